// SPDX-License-Identifier: Apache-2.0

// Package lifecycle turns observations of a cluster into traces. It finds the cause of every write,
// the phases of every object and the end of each reconciliation. The rules are those of
// docs/trace-model.md, cited by number.
//
// It is pure: no I/O, no goroutine and no clock. The observations are a set, with one timeline per
// object in order of resourceVersion. Traces are derived from this set. So permuted, repeated or
// late input gives the same traces and the same IDs.
//
// The data takes one way: the observations into the index (package index) and the trail of the audit
// log (trail); the changed groups of objects through a derivation, which places each write (placing, by
// the rules of cause), concludes the reconciliations (ending) and makes the spans (tree). Retention
// forgets what only handed-out traces needed.
package lifecycle

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/index"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/trail"
)

// DefaultSettle is the default of Options.Settle.
const DefaultSettle = change.DefaultSettle

// Confirmation is the longest time for which a version must last to count.
const Confirmation = judge.Steady

// Options configures an Engine. The zero value works.
type Options = change.Options

// Engine is the state machine. It is not safe for concurrent use: one goroutine must own it.
type Engine struct {
	opts      Options
	index     *index.Index
	trail     *trail.Trail
	groups    *groups
	endpoints *endpoints
	memory    *memory
	late      *amendments
	retention *retention
	problems  *problems
	after     *aftermaths
	// last is the time of the newest observation.
	last time.Time
}

// New returns an Engine without observations.
func New(opts Options) *Engine {
	opts = opts.Complete()
	e := &Engine{opts: opts, index: index.New(), memory: newMemory()}
	known := e.index.View()
	e.trail = trail.New(known)
	e.endpoints = newEndpoints(known)
	e.groups = newGroups(known, e.trail, opts.Rebuild, e.endpoints.active)
	e.late = &amendments{trail: e.trail, memory: e.memory, opts: opts}
	e.after = newAftermaths(known, opts.Aftermath)
	e.late.after = e.after
	e.retention = &retention{
		index: e.index, trail: e.trail, groups: e.groups, endpoints: e.endpoints, memory: e.memory, late: e.late,
		after: e.after, opts: opts,
	}
	e.problems = newProblems(known, e.groups, opts.Cluster)
	return e
}

// Running returns the commands without an observed end, in no order. The caller must not change
// them.
func (e *Engine) Running() []*observation.Run {
	var out []*observation.Run
	for _, r := range e.index.Runs() {
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
	return d.spans.Build(d.placed.Related(id))
}

// Settled reports whether the trace and the traces that follow from it are complete: all have
// ended, and were quiet for the settle window.
func (e *Engine) Settled(id trace.TraceID, now time.Time) bool {
	d := e.of(id, now)
	if d == nil {
		return true
	}
	for _, l := range d.placed.Related(id) {
		if !d.settling.settled(l, now) {
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
		out, ended, late := e.takeFrom(g, now)
		traces = append(traces, out...)
		if ended || late {
			g.compacted = false
			changed = append(changed, g)
		}
		ends = ends || ended
	}
	e.problems.look(now) // by the derivations, also of the changes that have ended
	e.problems.tracker.Settle()
	for id, spans := range e.endpoints.late() {
		e.late.add(id, spans)
	}
	e.after.report(now, e.late.add)
	if over := now.Sub(e.memory.compacted) > maxAge; ends || over {
		e.retention.compact(all, now, over)
	}
	for _, g := range changed {
		g.derived, g.built = nil, nil // causes depend on the traces that were handed out
	}
	return sorted(traces)
}

// takeFrom returns the settled traces of a group and marks them as handed out. It reports whether there were any,
// and whether late facts were found for others.
func (e *Engine) takeFrom(g *group, now time.Time) (out []lineTrace, ends, late bool) {
	d := g.derived
	ended := slices.DeleteFunc(d.placed.Untaken(), func(l *change.Lineage) bool { return !d.settling.settled(l, now) })
	built := d.spans.Build(ended)
	out = d.withLines(nil, built)
	before := e.late.count()
	e.late.events(d)
	e.late.claims(d)
	e.late.writes(d, now, func(r *change.Reconciliation) {
		e.endpoints.handOut(d.trail, r, now)
		e.after.joins(r)
	})
	for _, l := range ended {
		rest := change.Taken{At: now, Latest: l.Latest, Outside: l.Outside(), Originations: d.originations(l)}
		e.late.claim(d, l, &rest)
		if len(built) > 0 && built[0].ID == l.ID {
			e.after.take(l, built[0], len(rest.Blocking) > 0)
			built = built[1:]
		}
		l.HandOut()
		for _, r := range l.Reconciliations {
			g.kept.Forget(r.Timeline)
			if r.Timeline.Revisable != nil {
				e.problems.touch(r.Timeline)
			}
			e.endpoints.handOut(d.trail, r, now)
		}
		e.memory.taken[l.ID] = rest
	}
	return out, len(ended) > 0, e.late.count() > before
}

// Amendments returns the late facts about traces that Take has handed out, each once. The result
// has one trace per trace ID. It contains whole spans with the attribute lifeline.late, and
// zero-length spans named "late fact". The parent of such a span is the span with the additional
// fact (rule L9).
func (e *Engine) Amendments() []*span.Trace { return e.late.take() }

// AuditStats counts the writes of the audit log by their results. It is not saved.
type AuditStats = trail.Stats

// AuditStats returns the counts since the Engine was created or restored.
func (e *Engine) AuditStats() AuditStats { return e.trail.Stats() }

// Matches returns the numbers of pairs of objects found related since the start, by the relation in
// the configuration. A pair counts again after a change of a key.
func (e *Engine) Matches() map[string]uint64 { return e.index.Matches() }

// LackNodes gives the names that no Node has, for an observer that does not read all Nodes.
func (e *Engine) LackNodes(names map[string]bool) { e.index.LackNodes(names) }

// NamePods gives the names of Pods that are not observed, by UID. Messages of the scheduler name a Pod by
// its UID. The names are not saved.
func (e *Engine) NamePods(names map[types.UID]string) { e.index.NamePods(names) }
