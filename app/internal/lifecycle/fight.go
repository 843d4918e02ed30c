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

// noteUpdate records an update of fields. It may be part of a fight.
func (d *derivation) noteUpdate(w *change.Write) {
	if w.Updates() {
		d.updates[w.Timeline] = append(d.updates[w.Timeline], w)
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
	before, updates := d.engine.contests[t.Ref.UID], d.updates[t]
	if len(updates) > 0 && (before != nil || len(updates) > 2) { // a fight has three writes
		out = map[*change.Write]*change.Fight{}
		all := before.Clone()
		for _, w := range updates {
			if f := d.contest(all, w); f != nil {
				out[w] = f
			}
		}
	}
	d.fights[t] = out
	return out
}

// contest adds the update w to all, and returns its part in a fight, or nil. The first correction of
// a drift is no fight. A field that the object's own controller removes was a request to it.
func (d *derivation) contest(all *change.Contests, w *change.Write) *change.Fight {
	fields := w.Fields()
	if cause.OwnController(w) {
		removed := slices.DeleteFunc(slices.Clone(fields), func(f change.Field) bool { return f.Value != 0 })
		all.Drop(removed)
		fields = slices.DeleteFunc(fields, func(f change.Field) bool { return f.Value == 0 })
	}
	c := change.Claim{Author: d.authorOf(w), At: w.At.At().Time}
	if r := w.Reconciliation; r != nil {
		c.TraceID, c.SpanID = r.Lineage.ID, r.ID()
	}
	f := all.Write(c, fields)
	if f != nil && f.Count == 1 && d.Drift(w) != nil {
		return nil
	}
	return f
}

// authorOf returns the author of w. An unauthenticated event names no user.
func (d *derivation) authorOf(w *change.Write) change.Author {
	a := change.Author{Component: d.author(w)}
	if q := d.Audited(w); q != nil && !q.Unauthenticated {
		a.User, a.Impersonator = span.Bound(q.User), span.Bound(q.Impersonator)
	}
	return a
}

// foldFights remembers the updates of t up to the resourceVersion rv, before they are forgotten.
func (e *Engine) foldFights(d *derivation, t *change.Timeline, rv uint64) {
	for _, w := range d.updates[t] {
		if w.RV > rv {
			break
		}
		if e.contests[t.Ref.UID] == nil {
			e.contests[t.Ref.UID] = &change.Contests{}
		}
		d.contest(e.contests[t.Ref.UID], w)
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
			out = append(out, span.Link{TraceID: c.TraceID, SpanID: c.SpanID, Attributes: change.LinkReason(linkFight)})
		}
	}
	return out
}
