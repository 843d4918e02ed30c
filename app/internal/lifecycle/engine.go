// SPDX-License-Identifier: Apache-2.0

// Package lifecycle turns observations of a cluster into traces: it finds the
// cause of every write, the phases of every object and how each reconciliation
// ended. The rules are those of docs/trace-model.md, cited by number.
//
// It is pure: no I/O, no goroutine and no clock of its own. What it has seen is
// a set, kept in order of resourceVersion in one timeline per object; traces
// are derived from that set, so permuted, repeated or late input gives the same
// traces and the same IDs.
package lifecycle

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// DefaultSettle is the default of Options.Settle.
const DefaultSettle = 2 * time.Second

// Options says what an Engine works for. The zero value works.
type Options struct {
	// Cluster identifies the cluster; it is part of every derived trace ID.
	Cluster string
	// Settle is how long a trace must have been quiet, after its last span
	// has ended, before it counts as settled (rule L9): a kubelet looks at its
	// containers once a second, so a crash right after the start shows in that
	// time. Default DefaultSettle.
	Settle time.Duration
	// Quiet is how long an object is still held to be reconciled whose kind
	// does not say when it has converged (no observedGeneration): what its
	// controller writes in that time belongs to it. Default 3 s.
	Quiet time.Duration
	// Patience is how long a trace may make no progress before it ends as
	// unfinished. Default 1 h.
	Patience time.Duration
	// Rebuild tells what was there when the observer began whether or not it
	// had converged, from the objects' own timestamps: for whoever asks how an
	// object came about and did not watch it.
	Rebuild bool
}

// Engine is the state machine. It is not safe for concurrent use: one
// goroutine owns it.
type Engine struct {
	opts    Options
	objects map[types.UID]*timeline
	runs    map[trace.TraceID]*observation.Run
	// refused are writes that name no stored object, by their own span ID:
	// failed creates.
	refused map[string]*observation.Write
	nodes   map[string]*observation.Node
	shared  *shared
	// trail is what the audit log told that no timeline has.
	trail trail
	index
	// whole: everything is one group. Tests compare that with groups.
	whole bool

	// late is what came after its trace had been taken.
	late []amendment
	// added are the late spans of traces that were taken. They are not saved.
	added []*span.Trace
	// auditDelay is the time that events of the audit log need to arrive, lately.
	auditDelay time.Duration
	// auditAt is when the last one arrived.
	auditAt time.Time
	// taken are the traces that Take has handed out.
	taken map[trace.TraceID]taken
	// series are the series of changes of each object, as far as their versions were forgotten.
	series map[types.UID]*seriesList
	// tally counts what became of what the audit log told; doubts counts
	// changes of mind about what audit IDs name.
	tally  AuditStats
	doubts int
	fates  WriteStats
	// compacted is when the engine last forgot what it needs no more.
	compacted time.Time
	last      time.Time
}

// New returns an Engine that has seen nothing.
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
		opts:    opts,
		objects: map[types.UID]*timeline{},
		runs:    map[trace.TraceID]*observation.Run{},
		refused: map[string]*observation.Write{},
		nodes:   map[string]*observation.Node{},
		shared:  newShared(),
		trail:   newTrail(),
		index:   newIndex(),
		taken:   map[trace.TraceID]taken{},
		series:  map[types.UID]*seriesList{},
	}
}

// Observe adds one thing seen. It keeps o's parts: o must not change
// afterwards. Observing the same twice changes nothing.
func (e *Engine) Observe(o *observation.Observation) {
	if wall := o.Seen.Round(0); wall != o.Seen {
		// A monotonic reading cannot be saved: whoever is restored must
		// conclude the same without it.
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
		if t.removal == nil {
			e.fates.Observed++
		}
		t.gone(o)
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
	if !e.lateState(t, o) {
		e.unname(t)
		e.fates.add(t.state(o, e.shared))
		e.doubt(t)
		before := t.above
		e.reown(t)
		e.name(t)
		e.changed(t)
		e.tieOwners(t, before)
		e.context(t, o.State.TraceParent)
		if len(t.versions) == 1 {
			e.adopt(t)
		}
		return
	}
	e.changed(t)
}

func (e *Engine) observeEvent(o *observation.Observation) {
	t := e.timeline(o.Event.Regarding)
	if !e.lateEvent(t, o) {
		t.event(o, e.shared)
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
	t.request(w)
	e.changed(t)
	e.context(t, w.TraceParent)
}

func (e *Engine) observeRun(r *observation.Run) {
	sc := parseContext(r.TraceParent, "")
	if !sc.IsValid() {
		return
	}
	if known := e.runs[sc.TraceID()]; known != nil && r.End.IsZero() {
		return // its end was seen already
	}
	e.runs[sc.TraceID()] = r
	e.changedRun(sc.TraceID())
}

// Running returns the commands whose end was not observed, in no order. The caller must not change
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

// Traces returns every trace that is known and was not taken, as far as it is
// known, oldest first. Spans that have not changed since the last call are the same ones: the caller
// must not change them.
func (e *Engine) Traces(now time.Time) []*span.Trace {
	var all []lineTrace
	for _, g := range e.refresh(now) {
		all = g.derived.withLines(all, g.open())
	}
	return sorted(all)
}

// Related returns the trace with that ID, and after it the traces that follow
// from it: the cluster healing what it took away. It is empty if the trace is
// unknown.
func (e *Engine) Related(id trace.TraceID, now time.Time) []*span.Trace {
	d := e.of(id, now)
	if d == nil {
		return nil
	}
	return d.build(d.related(id))
}

// Settled reports whether nothing more is to be expected of the trace and of
// those that follow from it: all ended, and quiet for the settle window.
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

// Take returns the traces that have ended and settled, each once (rule L9), and
// forgets what only they needed.
func (e *Engine) Take(now time.Time) []*span.Trace {
	now = now.Round(0)
	all := e.refresh(now)
	var traces []lineTrace
	ends := false
	var told []*group
	for _, g := range all {
		d := g.derived
		ended := slices.DeleteFunc(d.untaken(), func(l *lineage) bool { return !d.settled(l, now) })
		traces = d.withLines(traces, d.build(ended))
		late := len(e.late) + len(e.added)
		e.lateEvents(d)
		e.addLate(d, now)
		for _, l := range ended {
			l.tell()
			e.taken[l.id] = taken{at: now, latest: l.latest, outside: l.outside(), originations: d.originations(l)}
		}
		if len(ended) > 0 || len(e.late)+len(e.added) > late {
			g.compacted = false
			told = append(told, g)
		}
		ends = ends || len(ended) > 0
	}
	if over := now.Sub(e.compacted) > retention; ends || over {
		e.compact(all, now, over)
	}
	for _, g := range told {
		g.derived, g.built = nil, nil // causes depend on what was handed out
	}
	return sorted(traces)
}
