// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

const (
	// maxContested is the maximum number of objects with remembered writes.
	maxContested = 1 << 14
	// fightMemory is the time for which the forgotten writes of an object are remembered. It is longer
	// than FightGap, since observations may be late.
	fightMemory = change.FightGap + 10*time.Minute
	// maxFightLinks is the maximum number of links from one change to opponents.
	maxFightLinks = 4
	// linkFight is the reason of a link to the overwritten change of an opponent.
	linkFight = "fight"
)

// fieldUpdate is an update of fields, which may be part of a fight.
type fieldUpdate struct {
	write *change.Write
	claim change.Claim
	// fields are the changed fields. consumed are the fields that the object's own controller removed.
	fields, consumed []change.Field
	// drift means that the update corrects a drift.
	drift bool
}

// noteUpdate records an update of fields.
func (d *derivation) noteUpdate(w *change.Write) {
	if w.Updates() {
		d.updates[w.Timeline] = append(d.updates[w.Timeline], fieldUpdate{write: w})
	}
}

// updatesOf returns the updates of t in order, with their authors.
func (d *derivation) updatesOf(t *change.Timeline) []fieldUpdate {
	all := d.updates[t]
	for i := range all {
		if all[i].fields == nil && all[i].consumed == nil {
			all[i].complete(d)
		}
	}
	return all
}

func (u *fieldUpdate) complete(d *derivation) {
	w := u.write
	u.claim = change.Claim{Author: d.authorOf(w), At: w.At.At().Time}
	if r := w.Reconciliation; r != nil {
		u.claim.TraceID, u.claim.SpanID = r.Lineage.ID, r.ID()
	}
	u.drift = d.Drift(w) != nil
	u.fields = w.Fields()
	removed := func(f change.Field) bool { return f.Value == 0 }
	if slices.ContainsFunc(u.fields, removed) && cause.OwnController(w) {
		for _, f := range u.fields {
			if removed(f) {
				u.consumed = append(u.consumed, f)
			}
		}
		u.fields = slices.DeleteFunc(u.fields, removed)
	}
}

// fightOf returns the part of r in a fight, or nil. It is a mark: identity, cause and outcome never
// depend on it.
func (d *derivation) fightOf(r *change.Reconciliation) *change.Fight {
	var out *change.Fight
	for _, w := range r.Writes {
		if f := d.fightsOf(w.Timeline)[w]; f != nil {
			out = out.Join(f)
		}
	}
	return out
}

// fightsOf returns the parts of an object's updates in fights. A fight depends on earlier updates
// only: on those of this derivation, and on the remembered ones before them.
func (d *derivation) fightsOf(t *change.Timeline) map[*change.Write]*change.Fight {
	out, known := d.fights[t]
	if known {
		return out
	}
	before, n := d.engine.contests[t.Ref.UID], len(d.updates[t])
	if n > 0 && (before != nil || n > 2) { // a fight has three updates
		out = map[*change.Write]*change.Fight{}
		all := before.Clone()
		for _, u := range d.updatesOf(t) {
			if f := u.contest(all); f != nil {
				out[u.write] = f
			}
		}
	}
	d.fights[t] = out
	return out
}

// contest adds the update to all, and returns its part in a fight, or nil. The first correction of a
// drift does not count. A field that the object's own controller removes was a request to it.
func (u *fieldUpdate) contest(all *change.Contests) *change.Fight {
	all.Drop(u.consumed)
	f := all.Write(u.claim, u.fields)
	if f != nil && f.Count == 1 && u.drift {
		return nil
	}
	return f
}

// authorOf returns the author of w. An unauthenticated event names no user.
func (d *derivation) authorOf(w *change.Write) change.Author {
	a := change.Author{Component: d.author(w), Manager: change.Component(w.Manager)}
	if q := d.Audited(w); q != nil && !q.Unauthenticated {
		a.User, a.Impersonator = span.Bound(q.User), span.Bound(q.Impersonator)
	}
	return a
}

// foldFights remembers updates of t up to the resourceVersion rv, which are forgotten.
func (e *Engine) foldFights(t *change.Timeline, updates []fieldUpdate, rv uint64) {
	for i := range updates {
		if updates[i].write.RV > rv {
			break
		}
		if e.contests[t.Ref.UID] == nil {
			e.contests[t.Ref.UID] = &change.Contests{}
		}
		updates[i].contest(e.contests[t.Ref.UID])
	}
}

// forgetFights forgets the remembered updates of long ago. Of too many objects it forgets those with
// the oldest ones.
func (e *Engine) forgetFights(now time.Time) {
	maps.DeleteFunc(e.contests, func(_ types.UID, c *change.Contests) bool { return now.Sub(c.Last()) > fightMemory })
	if len(e.contests) <= maxContested {
		return
	}
	oldest := slices.SortedFunc(maps.Keys(e.contests), func(a, b types.UID) int {
		return cmp.Or(e.contests[a].Last().Compare(e.contests[b].Last()), cmp.Compare(a, b))
	})
	for _, uid := range oldest[:len(oldest)-maxContested] {
		delete(e.contests, uid)
	}
}

// fightAttributes returns the attributes of a change in the fight f at the time at, nil without one.
func fightAttributes(f *change.Fight, at time.Time) []attribute.KeyValue {
	if f == nil {
		return nil
	}
	return []attribute.KeyValue{
		span.KeyFight.StringSlice(bounded(f.Paths)),
		span.KeyFightOpponents.StringSlice(f.Opponents()),
		span.KeyFightCount.Int64(f.Count),
		span.KeyFightDuration.Float64(max(0, at.Sub(f.Since)).Seconds()),
	}
}

func bounded(texts []string) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = span.Bound(t)
	}
	return out
}

// fightLinks appends links to the overwritten changes to those of r.
func fightLinks(r *change.Reconciliation, f *change.Fight) []span.Link {
	if f == nil {
		return r.Links
	}
	out := slices.Clip(r.Links)
	for _, c := range f.Against[max(0, len(f.Against)-maxFightLinks):] {
		if c.SpanID.IsValid() && c.TraceID != r.Lineage.ID {
			out = append(out, span.Link{TraceID: c.TraceID, SpanID: c.SpanID, Reason: linkFight})
		}
	}
	return out
}
