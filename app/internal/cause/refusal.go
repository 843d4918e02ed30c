// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// The reasons of a link from a created object to the change of the quota, or of the LimitRange, that had
// refused it.
const (
	linkQuota      = "quota"
	linkLimitRange = "limit-range"
)

// refusals are the relations of an object that a quota or a LimitRange had refused (rule C4). They give links to the
// change of the latter, or to its deletion, and no parent: the owner wanted the object before.
var refusals = [...]relation{
	{verbs: created, causes: refusing(object.Limits), link: linkLimitRange, last: relaxation},
	{verbs: created, causes: refusing(object.Quota), link: linkQuota, last: relaxation},
}

// Refuses reports whether r is the relation of an object to a quota, or to the LimitRanges, that refused its
// dependants.
func Refuses(r object.Relation) bool { return r.Type == object.Quota || r.Type == object.Limits }

// maxLimitRanges is the maximum number of LimitRanges in a Namespace. A refusal names no LimitRange, so each of them is
// a candidate.
const maxLimitRanges = 4

// refusing returns the objects of a type of relation that had refused the dependants of the owner of w's object; none
// of too many.
func refusing(typ object.RelationType) func(s *Scene, w *change.Write) []*change.Timeline {
	return func(s *Scene, w *change.Write) []*change.Timeline {
		up := refusedOwner(s, w)
		if up == nil {
			return nil
		}
		var out []*change.Timeline
		for _, r := range up.Refers() {
			if r.Type == typ {
				out = append(out, s.Known.Named(r.To)...)
			}
		}
		if len(out) > maxLimitRanges {
			return nil
		}
		return out
	}
}

// relaxation returns the last change of the object of t before w, if dependants were refused just before it and w is
// one of the first creations after it; nil otherwise.
func relaxation(s *Scene, w *change.Write, t *change.Timeline) *change.Reconciliation {
	up, all := refusedOwner(s, w), s.Placed.History(t.Ref.UID)
	if kind.LimitRange.Is(t.Ref.Kind) {
		all = s.Placed.Instants(t.Ref.UID)
	}
	for _, r := range slices.Backward(all) {
		first := r.First()
		if r.Verb == history.Created || first.RV >= w.RV || onlyMetadata(r) || !refused(s, up, t, first.RV) {
			continue
		}
		if nextBatch(s, up, w, first.RV) {
			return r
		}
		return nil
	}
	return nil
}

// onlyMetadata reports whether r is an instant change of only labels or annotations.
func onlyMetadata(r *change.Reconciliation) bool {
	return r.Instant && r.Verb == history.Updated && !touches(r.First(), "spec")
}

// refusedOwner returns the controller owner of the object of w if a quota or a LimitRange refused its
// dependants, or nil.
func refusedOwner(s *Scene, w *change.Write) *change.Timeline {
	o := controllerOf(s, w)
	if o == nil {
		return nil
	}
	up := s.Known.Object(o.UID)
	if up == nil || !slices.ContainsFunc(up.Refers(), Refuses) {
		return nil
	}
	return up
}

// refused reports whether the quota or the LimitRange of t refused dependants of the object of up just before the
// resourceVersion rv: by the object's condition, or by an Event after the last creation.
func refused(s *Scene, up, t *change.Timeline, rv uint64) bool {
	made := uint64(0)
	for _, t := range s.Known.Dependants(up.Ref.UID) {
		if born := birth(t); born < rv {
			made = max(made, born)
		}
	}
	i, _ := up.Position(rv)
	return slices.ContainsFunc(up.Refers(), func(relation object.Relation) bool {
		return Refuses(relation) && slices.Contains(s.Known.Named(relation.To), t) &&
			(i > 0 && change.RefusedIn(up.Versions[i-1], relation) ||
				slices.ContainsFunc(up.Events, func(e *history.Event) bool {
					return e.ResourceVersion > made && e.ResourceVersion < rv && change.RefusedBy(e, relation)
				}))
	})
}

// nextBatch reports whether w is among the first creations of dependants after the resourceVersion rv. A
// controller creates several, and then writes the owner's status.
func nextBatch(s *Scene, up *change.Timeline, w *change.Write, rv uint64) bool {
	first := w.RV
	for _, t := range s.Known.Dependants(up.Ref.UID) {
		if born := birth(t); born > rv {
			first = min(first, born)
		}
	}
	i, _ := up.Position(first)
	return i == len(up.Versions) || up.Versions[i].ResourceVersion > w.RV
}

// birth returns the resourceVersion of the creation of an object, or of its oldest known version; 0
// without one.
func birth(t *change.Timeline) uint64 {
	if len(t.Versions) == 0 {
		return 0
	}
	return t.Versions[0].ResourceVersion
}
