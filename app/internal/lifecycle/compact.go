// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/index"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/trail"
)

// maxAge is the time for which a removed object is kept, because its replacement may come later.
// The old data of an object without a reconciliation is kept for the same time, because a request
// may come later.
const maxAge = 2 * time.Minute

// retention forgets what only handed-out traces needed.
type retention struct {
	index     *index.Index
	trail     *trail.Trail
	groups    *groups
	endpoints *endpoints
	memory    *memory
	late      *amendments
	after     *aftermaths
	opts      Options
}

// compact forgets the data that only handed-out traces needed. Of a converged object it keeps the
// newest version and a summary of the last reconciliation. It keeps the sources of open traces, so
// that these traces do not change. It omits the groups without a change, unless every is true.
func (k *retention) compact(all []*group, now time.Time, every bool) {
	over, refused := k.over(now, every)
	for _, g := range all {
		// The rest of another group may have been merged with it.
		if g.derived != nil && (every || !g.compacted) {
			k.compactGroup(g, now, every)
		}
	}
	for _, key := range refused { // after the refusals that they explain
		k.index.ForgetRefused(key)
	}
	k.groups.showLostNodes()
	for _, id := range over {
		delete(k.memory.taken, id)
		k.index.ForgetRun(id)
		if g := k.groups.ofLine(id); g != nil {
			delete(g.runs, id)
			g.change()
		}
	}
	k.reportSeries(now)
	for _, w := range k.trail.Age(now) {
		id := index.Identify(w)
		if _, dropped := k.trail.Refuse(id, w); dropped {
			k.groups.changeAll()
		}
		k.groups.changedRefusal(id)
	}
	k.index.Unshare()
	if every {
		k.forgetFights(now)
		k.memory.compacted = now
		k.endpoints.forget(now)
		k.after.forget(now, k.memory.taken, k.index.Objects())
		k.groups.shrink()
		k.endpoints.shrink()
	}
}

// over returns the traces that were handed out long ago and have no reconciliation in a group any
// more. If every is true, it also returns the keys of old refused requests without a running
// command.
func (k *retention) over(now time.Time, every bool) (out []trace.TraceID, refused []string) {
	line := func(id trace.TraceID) *change.Lineage {
		g := k.groups.ofLine(id)
		if g == nil || g.derived == nil {
			return nil
		}
		return g.derived.placed.Lines[id]
	}
	for key, w := range k.index.Refused() {
		_, ended := k.memory.taken[change.RunOf(w)]
		l := line(change.RunOf(w))
		if every && now.Sub(w.End) > maxAge && (ended || l == nil || l.Run == nil) {
			refused = append(refused, key)
		}
	}
	for id, end := range k.memory.taken {
		if l := line(id); now.Sub(end.At) > k.opts.Patience && len(end.Blocking) == 0 &&
			(l == nil || len(l.Reconciliations) == 0) {
			out = append(out, id)
		}
	}
	return out, refused
}

// compactGroup compacts one group, and divides the rest into groups again. It forgets data by age
// alone only if aged is true.
func (k *retention) compactGroup(g *group, now time.Time, aged bool) {
	d := g.derived
	needed, last := d.needed(), d.lastHandedOut()
	lingering, some := d.lingering(now), false
	for t := range g.members {
		some = some || t.Idle(k.opts.Rebuild) || !needed.objects[t] && !lingering[t] || overgrown(t)
	}
	if !some {
		if k.forgetRefusals(d, now) {
			g.change()
		}
		g.compacted = len(lingering) == 0
		return
	}
	k.groups.dissolve(g)
	var left []*change.Timeline
	for t := range g.members {
		recs, updates := d.placed.Of(t), d.fights.UpdatesOf(t) // before their requests are forgotten
		switch {
		case overgrown(t) && (needed.objects[t] || lingering[t]):
			k.shortenOvergrown(t, recs, d, now)
		case needed.objects[t], t.Idle(k.opts.Rebuild), lingering[t]:
		case aged && (t.Removal != nil || len(t.Versions) == 0) && now.Sub(t.Heard()) > maxAge && !k.detaches(t):
			k.foldSeries(d, t, ^uint64(0))
			k.drop(t)
			continue
		default:
			k.shorten(t, recs, last[t], d)
			if aged && t.Past == nil {
				k.trim(t, now.Add(-maxAge))
			}
			t.AbsorbBaseline() // counted below
		}
		if len(t.Versions) > 0 && t.Versions[0].Baseline {
			k.foldSeries(d, t, t.Versions[0].ResourceVersion)
			k.foldFights(t, updates, t.Versions[0].ResourceVersion)
		}
		k.index.Reown(t)
		k.index.Relate(t, nil)
		if !t.Idle(k.opts.Rebuild) {
			left = append(left, t)
		}
	}
	k.count(d)
	k.forgetRefusals(d, now)
	for t := range g.members {
		k.endpoints.inactive(t)
	}
	for _, t := range left {
		k.groups.again(t)
	}
	for id := range g.runs {
		if k.index.Runs()[id] != nil {
			k.groups.changedRun(id)
		}
	}
	for id := range g.refusals {
		if k.trail.RefusalsOf(id) != nil {
			k.groups.changedRefusal(id)
		}
	}
	kept := map[*group]int{}
	for _, t := range left {
		kept[k.groups.of[t]]++
	}
	for g, n := range kept {
		g.compacted = n == len(g.members) && len(lingering) == 0
	}
}

// detaches reports whether the detachment of a volume of t, a removed Pod, may follow.
func (k *retention) detaches(t *change.Timeline) bool {
	known := k.index.View()
	exists := func(t *change.Timeline) bool { return t.Removal == nil }
	return slices.ContainsFunc(known.Attachments(t), func(a *change.Timeline) bool {
		return exists(a) && !slices.ContainsFunc(known.Attached(a), exists)
	})
}

// shorten forgets the handed-out data of t. last is the last handed-out write of t.
func (k *retention) shorten(t *change.Timeline, recs []*change.Reconciliation, last *change.Write, d *derivation) {
	k.recall(d, t)
	switch {
	case len(recs) > 0:
		k.fold(t, recs, d)
	case last != nil && t.Removal != nil && last.RV == t.Removal.RV:
		k.fold(t, []*change.Reconciliation{last.Reconciliation.Of(t, last)}, d)
	case last != nil:
		k.forgetTo(t, last.RV)
	}
}

// forgetTo forgets the versions before the resourceVersion rv. The version at rv becomes a
// baseline, and does not count as a write any more.
func (k *retention) forgetTo(t *change.Timeline, rv uint64) {
	i, found := t.Position(rv)
	if !found {
		return
	}
	t.Versions = slices.Clone(t.Versions[i:])
	t.Baseline()
}

// fold replaces the versions, requests and Events of t by the newest version and summaries of the
// last reconciliations.
func (k *retention) fold(t *change.Timeline, recs []*change.Reconciliation, d *derivation) {
	k.trail.Trim(t, time.Time{})
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
func (k *retention) trim(t *change.Timeline, before time.Time) {
	k.trail.Trim(t, before)
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

// drop removes t everywhere.
func (k *retention) drop(t *change.Timeline) {
	for _, of := range t.Claims() {
		k.late.settle(t, &of)
	}
	nodeGone, doubtful := k.index.Remove(t)
	for _, other := range doubtful {
		k.groups.doubt(other)
	}
	k.groups.changedPods(k.endpoints.leave(t))
	k.groups.remove(t, nodeGone)
	delete(k.memory.contests, t.Ref.UID)
}
