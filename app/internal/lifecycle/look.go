// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/placed"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// refresh derives the groups with changes or with an expired derivation. It returns all groups,
// oldest first.
func (e *Engine) refresh(now time.Time) []*group {
	now = now.Round(0)
	turned, schedulers := e.index.TakeTurned(), e.index.TakeSchedulers()
	e.groups.turn(turned)
	e.groups.react(schedulers)
	e.problems.turn(turned)
	e.problems.react(schedulers)
	for e.deriveChanged(now) {
	}
	out := make([]*group, 0, len(e.groups.all))
	for g := range e.groups.all {
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b *group) int { return placed.CompareLineages(a.oldest(), b.oldest()) })
	return out
}

// deriveChanged derives the groups with changes or with an expired derivation. A context may name a
// trace of another group. It then merges the two groups, and reports that another pass is
// necessary.
func (e *Engine) deriveChanged(now time.Time) (merged bool) {
	for g := range e.groups.all {
		switch {
		case g.size() == 0:
			e.groups.dissolve(g)
			continue
		case g.derived != nil && g.derived.clock.Holds(now):
			continue
		}
		d := derive(e, g, now)
		g.derived, g.built = d, nil
		if e.groups.inOne() {
			continue
		}
		for id := range d.placed.Lines {
			other := e.groups.byLine[id]
			merged = merged || other != nil && other != g
			g = e.groups.tieLine(g, id)
		}
	}
	return merged
}

// of returns the derivation of the group with that trace, or nil.
func (e *Engine) of(id trace.TraceID, now time.Time) *derivation {
	for _, g := range e.refresh(now) {
		if g.derived.placed.Lines[id] != nil {
			return g.derived
		}
	}
	return nil
}

// oldest returns the oldest lineage of a derived group, or nil.
func (g *group) oldest() *change.Lineage {
	if len(g.derived.placed.Ordered) == 0 {
		return nil
	}
	return g.derived.placed.Ordered[0]
}

// open returns the traces of a derived group that were not handed out.
func (g *group) open() []*span.Trace {
	if g.built == nil {
		g.built = g.derived.spans.Build(g.derived.placed.Untaken())
	}
	return g.built
}

// sorted returns traces in the order of their lineages.
func sorted(all []lineTrace) []*span.Trace {
	slices.SortFunc(all, func(a, b lineTrace) int { return placed.CompareLineages(a.line, b.line) })
	out := make([]*span.Trace, len(all))
	for i := range all {
		out[i] = all[i].trace
	}
	return out
}

// lineTrace is a trace and its lineage.
type lineTrace struct {
	line  *change.Lineage
	trace *span.Trace
}

func (d *derivation) withLines(out []lineTrace, traces []*span.Trace) []lineTrace {
	for _, t := range traces {
		out = append(out, lineTrace{d.placed.Lines[t.ID], t})
	}
	return out
}

// Differences derives all groups together as one. It returns the IDs of the open traces that differ
// from those of the separate groups. The result should be empty.
func (e *Engine) Differences(now time.Time) []trace.TraceID {
	now = now.Round(0)
	everything := newGroups(e.groups.known, e.trail, e.opts.Rebuild, func(*change.Timeline) {})
	g := everything.add()
	for t := range e.groups.members() {
		g.members[t] = struct{}{}
	}
	for id := range e.index.Runs() {
		g.runs[id] = struct{}{}
	}
	for id := range e.trail.Refused() {
		g.refusals[id] = struct{}{}
	}
	d := derive(e, g, now)
	want := map[trace.TraceID]*span.Trace{}
	for _, t := range d.spans.Build(d.placed.Untaken()) {
		want[t.ID] = t
	}
	var out []trace.TraceID
	for _, t := range e.Traces(now) {
		if !reflect.DeepEqual(t, want[t.ID]) {
			out = append(out, t.ID)
		}
		delete(want, t.ID)
	}
	return append(out, slices.SortedFunc(maps.Keys(want), compareIDs)...)
}
