// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// retention is the time for which a removed object is kept, because its replacement may come later.
// The old data of an object without a reconciliation is kept for the same time, because a request
// may come later.
const retention = 2 * time.Minute

// compact forgets the data that only handed-out traces needed. Of a converged object it keeps the
// newest version and a summary of the last reconciliation. It keeps the sources of open traces, so
// that these traces do not change. It omits the groups without a change, unless every is true.
func (e *Engine) compact(all []*group, now time.Time, every bool) {
	over, refused := e.over(now, every)
	for _, g := range all {
		// The rest of another group may have been merged with it.
		if g.derived != nil && (every || !g.compacted) {
			e.compactGroup(g, now, every)
		}
	}
	for _, key := range refused { // after the refusals that they explain
		delete(e.refused, key)
	}
	if e.groups.nodeGone {
		e.groups.changeAll()
		e.groups.nodeGone = false
	}
	for _, id := range over {
		delete(e.taken, id)
		delete(e.runs, id)
		g := e.groups.byLine[id]
		if e.inOne() {
			g = e.one()
		}
		if g != nil {
			delete(g.runs, id)
			g.change()
		}
	}
	e.reportSeries(now)
	e.ageTrail(now)
	e.shared = history.NewShared() // its values come from forgotten observations
	if every {
		e.forgetFights(now)
		e.compacted = now
		e.forgetEndpoints(now)
		e.groups.shrink()
		e.pods, e.endpoints = shrunk(e.pods), shrunk(e.endpoints)
	}
}

// over returns the traces that were handed out long ago and have no reconciliation in a group any
// more. If every is true, it also returns the keys of old refused requests without a running
// command.
func (e *Engine) over(now time.Time, every bool) (out []trace.TraceID, refused []string) {
	line := func(id trace.TraceID) *change.Lineage {
		g := e.groups.byLine[id]
		if e.inOne() {
			g = e.one()
		}
		if g == nil || g.derived == nil {
			return nil
		}
		return g.derived.Lines[id]
	}
	for key, w := range e.refused {
		_, ended := e.taken[runOf(w)]
		l := line(runOf(w))
		if every && now.Sub(w.End) > retention && (ended || l == nil || l.Run == nil) {
			refused = append(refused, key)
		}
	}
	for id, end := range e.taken {
		if l := line(id); now.Sub(end.At) > e.opts.Patience && (l == nil || len(l.Reconciliations) == 0) {
			out = append(out, id)
		}
	}
	return out, refused
}

// compactGroup compacts one group, and divides the rest into groups again. It forgets data by age
// alone only if aged is true.
func (e *Engine) compactGroup(g *group, now time.Time, aged bool) {
	d := g.derived
	needed, last := d.needed(), d.lastHandedOut()
	lingering, some := d.lingering(now), false
	for t := range g.members {
		some = some || t.Idle(e.opts.Rebuild) || !needed.objects[t] && !lingering[t] || overgrown(t)
	}
	if !some {
		if e.forgetRefusals(d, now) {
			g.change()
		}
		g.compacted = len(lingering) == 0
		return
	}
	e.groups.dissolve(g)
	var left []*change.Timeline
	for t := range g.members {
		recs, updates := d.historyOf(t), d.updatesOf(t) // before their requests are forgotten
		switch {
		case overgrown(t) && (needed.objects[t] || lingering[t]):
			e.shortenOvergrown(t, recs, d, now)
		case needed.objects[t], t.Idle(e.opts.Rebuild), lingering[t]:
		case aged && (t.Removal != nil || len(t.Versions) == 0) && now.Sub(t.Heard()) > retention:
			e.foldSeries(d, t, ^uint64(0))
			e.drop(t)
			continue
		default:
			e.shorten(t, recs, last[t], d)
			if aged && t.Past == nil {
				e.trim(t, now.Add(-retention))
			}
			t.AbsorbBaseline() // counted below
		}
		if len(t.Versions) > 0 && t.Versions[0].Baseline {
			e.foldSeries(d, t, t.Versions[0].ResourceVersion)
			e.foldFights(t, updates, t.Versions[0].ResourceVersion)
		}
		e.reown(t)
		e.relate(t, nil)
		if !t.Idle(e.opts.Rebuild) {
			left = append(left, t)
		}
	}
	e.count(d)
	e.forgetRefusals(d, now)
	for t := range g.members {
		e.inactive(t)
	}
	for _, t := range left {
		e.again(t)
	}
	for id := range g.runs {
		if e.runs[id] != nil {
			e.changedRun(id)
		}
	}
	for id := range g.refusals {
		if e.trail.refusals[id] != nil {
			e.changedRefusal(id)
		}
	}
	kept := map[*group]int{}
	for _, t := range left {
		kept[e.groups.of[t]]++
	}
	for g, n := range kept {
		g.compacted = n == len(g.members) && len(lingering) == 0
	}
}

// lingering returns the members for which lingers reports true.
func (d *derivation) lingering(now time.Time) map[*change.Timeline]bool {
	out := map[*change.Timeline]bool{}
	for t := range d.group.members {
		if d.lingers(t, now) {
			out[t] = true
		}
	}
	return out
}

// shorten forgets the handed-out data of t. last is the last handed-out write of t.
func (e *Engine) shorten(t *change.Timeline, recs []*change.Reconciliation, last *change.Write, d *derivation) {
	d.recall(t)
	switch {
	case len(recs) > 0:
		e.fold(t, recs, d)
	case last != nil && t.Removal != nil && last.RV == t.Removal.RV:
		e.fold(t, []*change.Reconciliation{last.Reconciliation.Of(t, last)}, d)
	case last != nil:
		e.forgetTo(t, last.RV)
	}
}

// lastHandedOut returns the last write in a handed-out trace, for each object without a history (see
// historyOf).
func (d *derivation) lastHandedOut() map[*change.Timeline]*change.Write {
	out := map[*change.Timeline]*change.Write{}
	for _, w := range d.written {
		// Most writes are those of a reconciliation in the history of their own object.
		if r := w.Reconciliation; r != nil && (r.Instant || r.Timeline != w.Timeline) && d.handedOut(r.Lineage) {
			out[w.Timeline] = w
		}
	}
	return out
}

// handedOut reports whether Take has handed out the trace.
func (d *derivation) handedOut(l *change.Lineage) bool {
	_, taken := d.engine.taken[l.ID]
	return taken || l.Old
}

// forgetTo forgets the versions before the resourceVersion rv. The version at rv becomes a
// baseline, and does not count as a write any more.
func (e *Engine) forgetTo(t *change.Timeline, rv uint64) {
	i, found := t.Position(rv)
	if !found {
		return
	}
	t.Versions = slices.Clone(t.Versions[i:])
	t.Baseline()
}

// needed are the objects with data for open traces: the objects of these traces, the owners above
// them, and all dependants of these owners.
type needed struct {
	objects map[*change.Timeline]bool
	owners  map[types.UID]bool
}

func (d *derivation) needed() needed {
	n := needed{objects: map[*change.Timeline]bool{}, owners: map[types.UID]bool{}}
	for _, r := range d.late() {
		n.add(d, r.Timeline)
	}
	for _, l := range d.untaken() {
		for _, r := range l.Reconciliations {
			n.add(d, r.Timeline)
			for _, to := range r.Timeline.Refers() {
				// A refused dependant may be created later, and a Pod has the reason of its claims.
				if cause.Refuses(to) || to.Type == object.Claim {
					for _, t := range d.Named(to.To) {
						n.add(d, t)
					}
				}
			}
			for _, w := range r.Writes {
				for _, t := range d.Sources(w) {
					n.add(d, t)
				}
			}
			for _, w := range r.Notes {
				n.add(d, w.Timeline)
			}
			if r.Heals != nil {
				n.add(d, r.Heals)
			}
		}
		for _, w := range l.Loose {
			if t := d.Object(w.UID); t != nil {
				n.add(d, t)
			}
		}
	}
	return n
}

func (n *needed) add(d *derivation, t *change.Timeline) {
	n.objects[t] = true
	for _, by := range d.Referrers(object.UIDName(t.Ref.UID)) { // the causes of t are in their Events
		if !n.objects[by] {
			n.add(d, by)
		}
	}
	for _, o := range t.Owners() {
		if n.owners[o.UID] {
			continue
		}
		n.owners[o.UID] = true
		for _, dependant := range d.engine.claiming(o.UID) {
			n.objects[dependant] = true
		}
		if up := d.Object(o.UID); up != nil {
			n.add(d, up)
		}
	}
}

// fold replaces the versions, requests and Events of t by the newest version and summaries of the
// last reconciliations.
func (e *Engine) fold(t *change.Timeline, recs []*change.Reconciliation, d *derivation) {
	e.trimAudits(t, time.Time{})
	t.Past = d.past(t, recs)
	if n := len(t.Versions); n > 0 {
		t.Versions = []*history.Version{t.Versions[n-1]}
		t.Baseline()
	}
	t.Events = nil
	t.SetRequests(nil)
}

// trim forgets the old data of an object without a reconciliation, up to the time before. The
// newest version up to that time becomes the baseline.
func (e *Engine) trim(t *change.Timeline, before time.Time) {
	e.trimAudits(t, before)
	old := 0
	for old < len(t.Versions)-1 && t.Versions[old+1].Seen.Before(before) {
		old++
	}
	if old > 0 {
		t.Versions = slices.Clone(t.Versions[old:])
	}
	if len(t.Versions) > 0 && t.Versions[0].Seen.Before(before) {
		t.Baseline()
	}
	t.Events = slices.DeleteFunc(t.Events, func(e *history.Event) bool { return e.Seen.Before(before) })
	t.SetRequests(slices.DeleteFunc(t.Requests(), func(w *observation.Write) bool { return w.End.Before(before) }))
}

// originations returns the resourceVersions of the writes that are in the trace because of their
// contexts, in order.
func (d *derivation) originations(l *change.Lineage) []uint64 {
	var out []uint64
	for _, r := range l.Reconciliations {
		byRequest := r.Evidence == span.ByRequest && l.Run == nil
		if r.Evidence != span.ByAnnotation && !r.Admitted && !byRequest {
			continue
		}
		for _, w := range r.Writes {
			if w.Originates() || byRequest && d.Asked(w) != nil {
				out = append(out, w.RV)
			}
		}
	}
	slices.Sort(out)
	return out
}

// remembered returns a stand-in for the last reconciliation of a folded timeline. Later changes are
// derived from it.
func (d *derivation) remembered(t *change.Timeline) *change.Reconciliation {
	p := t.Past
	line := d.Lines[p.TraceID]
	if line == nil {
		line = &change.Lineage{ID: p.TraceID, Old: true}
		d.Lines[p.TraceID] = line
	}
	r := &change.Reconciliation{
		Folded:   true,
		Timeline: t,
		Lineage:  line,
		SpanID:   p.SpanID,
		Verb:     p.Verb,
		Activity: p.Activity,
		Done:     true,
		Writes: []*change.Write{
			{Timeline: t, RV: p.RV, Verb: p.Verb, Part: change.Desired},
		},
		Took:  kind.Everything,
		Parts: kind.Everything,
	}
	d.folded = append(d.folded, r)
	return r
}
