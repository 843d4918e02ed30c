// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/trail"
)

const (
	// MaxContested is the maximum number of objects with remembered writes.
	MaxContested = 1 << 14
	// FightMemory is the time for which the forgotten writes of an object are remembered. It is longer
	// than FightGap, since observations may be late.
	FightMemory = change.FightGap + 10*time.Minute
	// maxFightLinks is the maximum number of links from one change to opponents.
	maxFightLinks = 4
	// LinkFight is the reason of a link to the overwritten change of an opponent.
	LinkFight = "fight"
)

// Fights are the updates of each object's fields, and their parts in fights. They are derived on first use: only
// spans show them.
type Fights struct {
	scene *cause.Scene
	trail *trail.Trail
	// contests are the updates of forgotten versions.
	contests map[types.UID]*change.Contests
	updates  map[*change.Timeline][]FieldUpdate
	known    map[*change.Timeline]map[*change.Write]*change.Fight
}

// NewFights returns the updates among the placed writes. contests are those of forgotten versions.
func NewFights(s *cause.Scene, contests map[types.UID]*change.Contests) *Fights {
	f := &Fights{scene: s, trail: s.Trail, contests: contests}
	for _, w := range s.Placed.Written {
		if w.Updates() {
			if f.updates == nil {
				f.updates = map[*change.Timeline][]FieldUpdate{}
			}
			f.updates[w.Timeline] = append(f.updates[w.Timeline], FieldUpdate{Write: w})
		}
	}
	return f
}

// FieldUpdate is an update of fields, which may be part of a fight.
type FieldUpdate struct {
	Write *change.Write
	claim change.Claim
	// fields are the changed fields. consumed are the fields that the object's own controller removed.
	fields, consumed []change.Field
	// drift means that the update corrects a drift.
	drift bool
}

// UpdatesOf returns the updates of t in order, with their authors.
func (f *Fights) UpdatesOf(t *change.Timeline) []FieldUpdate {
	all := f.updates[t]
	for i := range all {
		if all[i].fields == nil && all[i].consumed == nil {
			all[i].complete(f)
		}
	}
	return all
}

func (u *FieldUpdate) complete(f *Fights) {
	w := u.Write
	u.claim = change.Claim{Author: f.authorOf(w), At: w.At.At().Time}
	if r := w.Reconciliation; r != nil {
		u.claim.TraceID, u.claim.SpanID = r.Lineage.ID, r.ID()
	}
	u.drift = cause.Drift(f.scene, w) != nil
	u.fields = w.Fields()
	removed := func(f change.Field) bool { return f.Value == 0 }
	if slices.ContainsFunc(u.fields, removed) && cause.OwnController(f.scene, w) {
		for _, field := range u.fields {
			if removed(field) {
				u.consumed = append(u.consumed, field)
			}
		}
		u.fields = slices.DeleteFunc(u.fields, removed)
	}
}

// Of returns the part of r in a fight, or nil. It is a mark: identity, cause and outcome never
// depend on it.
func (f *Fights) Of(r *change.Reconciliation) *change.Fight {
	var out *change.Fight
	for _, w := range r.Writes {
		if f := f.fightsOf(w.Timeline)[w]; f != nil {
			out = out.Join(f)
		}
	}
	return out
}

// fightsOf returns the parts of an object's updates in fights. A fight depends on earlier updates
// only: on those of this derivation, and on the remembered ones before them.
func (f *Fights) fightsOf(t *change.Timeline) map[*change.Write]*change.Fight {
	out, known := f.known[t]
	if known {
		return out
	}
	before, n := f.contests[t.Ref.UID], len(f.updates[t])
	if n == 0 {
		return nil
	}
	if f.known == nil {
		f.known = map[*change.Timeline]map[*change.Write]*change.Fight{}
	}
	if before != nil || n > 2 { // a fight has three updates
		out = map[*change.Write]*change.Fight{}
		all := before.Clone()
		for _, u := range f.UpdatesOf(t) {
			if f := u.Contest(all); f != nil {
				out[u.Write] = f
			}
		}
	}
	f.known[t] = out
	return out
}

// Contest adds the update to all, and returns its part in a fight, or nil. The first correction of a
// drift does not count. A field that the object's own controller removes was a request to it.
func (u *FieldUpdate) Contest(all *change.Contests) *change.Fight {
	all.Drop(u.consumed)
	f := all.Write(u.claim, u.fields)
	if f != nil && f.Count == 1 && u.drift {
		return nil
	}
	return f
}

// authorOf returns the author of w. An unauthenticated event names no user.
func (f *Fights) authorOf(w *change.Write) change.Author {
	a := change.Author{Component: cause.Author(f.scene, w), Manager: change.Component(w.Manager)}
	if q := f.trail.Audited(w); q != nil && !q.Unauthenticated {
		a.User, a.Impersonator = span.Bound(q.User), span.Bound(q.Impersonator)
	}
	return a
}

// FightAttributes returns the attributes of a change in the fight f at the time at, nil without one.
func FightAttributes(f *change.Fight, at time.Time) []attribute.KeyValue {
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
			out = append(out, span.Link{TraceID: c.TraceID, SpanID: c.SpanID, Reason: LinkFight})
		}
	}
	return out
}
