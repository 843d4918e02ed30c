// SPDX-License-Identifier: Apache-2.0

// Package lifecycle turns observations of a cluster into traces. It finds the cause of every write,
// the phases of every object and the end of each reconciliation. The rules are those of
// docs/trace-model.md, cited by number.
//
// It is pure: no I/O, no goroutine and no clock. The observations are a set, with one timeline per
// object in order of resourceVersion. Traces are derived from this set. So permuted, repeated or
// late input gives the same traces and the same IDs.
package lifecycle

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// DefaultSettle is the default of Options.Settle.
const DefaultSettle = 2 * time.Second

// Options configures an Engine. The zero value works.
type Options struct {
	// Cluster identifies the cluster. It is part of every derived trace ID.
	Cluster string
	// Settle is the quiet time of a trace after the end of its last span, before the trace counts
	// as settled (rule L9). A kubelet checks its containers once a second. So a crash right after
	// the start shows in that time. Default DefaultSettle.
	Settle time.Duration
	// Quiet is the time for which an object without observedGeneration still counts as being
	// reconciled after its last activity. The writes of its controller in that time belong to the
	// reconciliation. Default 3 s.
	Quiet time.Duration
	// Patience is the time without progress after which a trace ends as unfinished. Default 1 h.
	Patience time.Duration
	// Rebuild reconstructs the objects from before the start of the observer, also converged ones,
	// from their own timestamps. It is for explanations of objects whose creation was not observed.
	Rebuild bool
}

// Engine is the state machine. It is not safe for concurrent use: one goroutine must own it.
type Engine struct {
	opts    Options
	objects map[types.UID]*change.Timeline
	runs    map[trace.TraceID]*observation.Run
	// refused are failed creates: writes without a stored object, by their trace context and audit
	// ID.
	refused map[string]*observation.Write
	nodes   map[string]*observation.Node
	shared  *history.Shared
	// trail holds the data of the audit log that is in no timeline.
	trail trail
	index
	// endpoints holds the publications of Pods, and published those with late ones.
	endpoints map[observation.EndpointKey]*endpoint
	published []observation.EndpointKey
	// whole means that everything is one group. Tests compare this with several groups.
	whole bool
	// otherPods are the names of Pods that are not observed, by UID (see NamePods).
	otherPods map[types.UID]string

	// late are the amendments of traces that were handed out.
	late []amendment
	// added are the late spans of traces that were handed out. They are not saved.
	added []*span.Trace
	// auditDelay is the recent delay of audit events.
	auditDelay time.Duration
	// auditAt is the arrival time of the last audit event.
	auditAt time.Time
	// taken are the traces that Take has handed out.
	taken map[trace.TraceID]cause.Taken
	// series are the series of changes of each object, for its forgotten versions.
	series map[types.UID]*seriesList
	// contests are the recent updates of each object's fields, for its forgotten versions.
	contests map[types.UID]*change.Contests
	// tally counts the results for writes from the audit log. doubts counts revised conclusions
	// about audit IDs.
	tally  AuditStats
	doubts int
	fates  WriteStats
	// compacted is the time of the last compaction of all groups.
	compacted time.Time
	last      time.Time
}

// New returns an Engine without observations.
func New(opts Options) *Engine {
	if opts.Settle <= 0 {
		opts.Settle = DefaultSettle
	}
	if opts.Quiet <= 0 {
		opts.Quiet = 3 * time.Second
	}
	if opts.Patience <= 0 {
		opts.Patience = time.Hour
	}
	return &Engine{
		opts:     opts,
		objects:  map[types.UID]*change.Timeline{},
		runs:     map[trace.TraceID]*observation.Run{},
		refused:  map[string]*observation.Write{},
		nodes:    map[string]*observation.Node{},
		shared:   history.NewShared(),
		trail:    newTrail(),
		index:    newIndex(),
		taken:    map[trace.TraceID]cause.Taken{},
		series:   map[types.UID]*seriesList{},
		contests: map[types.UID]*change.Contests{},

		endpoints: map[observation.EndpointKey]*endpoint{},
	}
}

// Observe adds one observation. It keeps the parts of o, so o must not change afterwards. A
// repeated observation changes nothing.
func (e *Engine) Observe(o *observation.Observation) {
	if wall := o.Seen.Round(0); wall != o.Seen {
		// A monotonic clock reading cannot be saved. A restored Engine must reach the same
		// conclusions without it.
		stripped := *o
		stripped.Seen, o = wall, &stripped
	}
	if o.Seen.After(e.last) {
		e.last = o.Seen
	}
	switch {
	case o.State != nil:
		e.observeState(o)
	case o.Gone != nil:
		t := e.timeline(o.Gone.Ref)
		e.unname(t)
		if t.Removal == nil {
			e.fates.Observed++
		}
		t.Gone(o)
		e.noteNode(t)
		e.doubt(t)
		e.name(t)
		e.changed(t)
	case o.Write != nil && o.Source == observation.SourceAudit:
		e.measureAudit(o)
		e.observeAudit(o.Write)
	case o.Write != nil:
		e.observeWrite(o.Write)
	case o.Event != nil:
		e.observeEvent(o)
	case o.Run != nil:
		e.observeRun(o.Run)
	}
}

func (e *Engine) observeState(o *observation.Observation) {
	if n := o.State.Node; n != nil {
		e.nodeChanged(o.State.Name, n)
	}
	t := e.timeline(o.State.Ref)
	if o.State.Endpoints != nil {
		before, newest := endpointsBefore(t, o.State.ResourceVersion)
		e.publish(o, before, newest)
	}
	if !e.lateState(t, o) {
		e.unname(t)
		e.fates.add(t.State(o, e.shared))
		e.noteNode(t)
		if e.absorbed(t) {
			e.name(t)
			return
		}
		e.doubt(t)
		above := t.Above
		e.reown(t)
		e.name(t)
		e.relate(t, t.At(o.State.ResourceVersion))
		e.changed(t)
		e.tieOwners(t, above)
		e.context(t, o.State.TraceParent)
		if len(t.Versions) == 1 {
			e.adopt(t)
			e.first(t)
		}
		return
	}
	e.relate(t, nil)
	e.changed(t)
}

func (e *Engine) observeEvent(o *observation.Observation) {
	t := e.timeline(o.Event.Regarding)
	if !e.lateEvent(t, o) {
		t.Event(o, e.shared)
	}
	if change.Relates(o.Event) {
		e.relate(t, nil)
	}
	e.changed(t)
}

func (e *Engine) observeWrite(w *observation.Write) {
	if w.UID == "" {
		key := w.TraceParent + w.AuditID
		if key == "" {
			key = w.Start.String() + w.Ref.String()
		}
		e.refused[key] = w
		if g := e.groups.byLine[runOf(w)]; g != nil {
			g.change()
		} else if e.inOne() {
			e.groups.changeAll()
		}
		e.changedRefusals(w)
		return
	}
	t := e.timeline(w.Ref)
	t.Request(w)
	e.changed(t)
	e.context(t, w.TraceParent)
}

func (e *Engine) observeRun(r *observation.Run) {
	sc := cause.ParseContext(r.TraceParent, "")
	if !sc.IsValid() {
		return
	}
	if known := e.runs[sc.TraceID()]; known != nil && r.End.IsZero() {
		return // its end was already observed
	}
	e.runs[sc.TraceID()] = r
	e.changedRun(sc.TraceID())
}

// Running returns the commands without an observed end, in no order. The caller must not change
// them.
func (e *Engine) Running() []*observation.Run {
	var out []*observation.Run
	for _, r := range e.runs {
		if r.End.IsZero() {
			out = append(out, r)
		}
	}
	return out
}

// Traces returns all known traces that were not handed out, in their present state, oldest first.
// Spans without a change since the last call are the same ones. The caller must not change them.
func (e *Engine) Traces(now time.Time) []*span.Trace {
	var all []lineTrace
	for _, g := range e.refresh(now) {
		all = g.derived.withLines(all, g.open())
	}
	return sorted(all)
}

// Related returns the trace with that ID, and after it the traces that follow from it: the cluster
// heals the damage of the first one. It is empty if the trace is unknown.
func (e *Engine) Related(id trace.TraceID, now time.Time) []*span.Trace {
	d := e.of(id, now)
	if d == nil {
		return nil
	}
	return d.build(d.related(id))
}

// Settled reports whether the trace and the traces that follow from it are complete: all have
// ended, and were quiet for the settle window.
func (e *Engine) Settled(id trace.TraceID, now time.Time) bool {
	d := e.of(id, now)
	if d == nil {
		return true
	}
	for _, l := range d.related(id) {
		if !d.settled(l, now) {
			return false
		}
	}
	return true
}

// Take returns the traces that have ended and settled, each once (rule L9). It forgets the data
// that only they needed.
func (e *Engine) Take(now time.Time) []*span.Trace {
	now = now.Round(0)
	all := e.refresh(now)
	var traces []lineTrace
	ends := false
	var changed []*group
	for _, g := range all {
		d := g.derived
		ended := slices.DeleteFunc(d.untaken(), func(l *change.Lineage) bool { return !d.settled(l, now) })
		traces = d.withLines(traces, d.build(ended))
		late := len(e.late) + len(e.added)
		e.lateEvents(d)
		e.addLate(d, now)
		for _, l := range ended {
			l.HandOut()
			for _, r := range l.Reconciliations {
				g.forget(r.Timeline)
				e.handOutPublications(d, r, now)
			}
			e.taken[l.ID] = cause.Taken{
				At:           now,
				Latest:       l.Latest,
				Outside:      l.Outside(),
				Originations: d.originations(l),
			}
		}
		if len(ended) > 0 || len(e.late)+len(e.added) > late {
			g.compacted = false
			changed = append(changed, g)
		}
		ends = ends || len(ended) > 0
	}
	e.latePublications()
	if over := now.Sub(e.compacted) > retention; ends || over {
		e.compact(all, now, over)
	}
	for _, g := range changed {
		g.derived, g.built = nil, nil // causes depend on the traces that were handed out
	}
	return sorted(traces)
}

func (e *Engine) timeline(ref object.Ref) *change.Timeline {
	t := e.objects[ref.UID]
	if t == nil {
		t = &change.Timeline{Record: history.Record{Ref: e.shared.Ref(ref)}}
		e.objects[ref.UID] = t
	}
	return t
}
