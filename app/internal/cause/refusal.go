// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// The reasons of a link from a created object to the change of the quota, or of the LimitRange, that had
// refused it.
const (
	linkQuota      = "quota"
	linkLimitRange = "limit-range"
)

// byRefusal is rule C4 for an object that a quota or a LimitRange had refused. It links to the change of the
// latter, or to its deletion. It never finds a cause: the owner wanted the object before.
func byRefusal(s *Scene, w *change.Write) (Cause, bool, []span.Link) {
	if w.Verb != history.Created {
		return Cause{}, false, nil
	}
	up := refusedOwner(s, w)
	if up == nil {
		return Cause{}, false, nil
	}
	var links []span.Link
	for _, relation := range up.Refers() {
		if !Refuses(relation) {
			continue
		}
		why := linkQuota
		if relation.Type == object.Limits {
			why = linkLimitRange
		}
		for _, last := range relaxations(s, up, relation, w.RV) {
			if nextBatch(s, up, w, last.First().RV) {
				links = append(links, last.Link(why))
			}
		}
	}
	return Cause{}, false, links
}

// Refuses reports whether r is the relation of an object to a quota, or to the LimitRanges, that refused its
// dependants.
func Refuses(r object.Relation) bool { return r.Type == object.Quota || r.Type == object.Limits }

// maxLimitRanges is the maximum number of LimitRanges in a Namespace. A refusal names no
// LimitRange, so each of them is a candidate.
const maxLimitRanges = 4

// relaxations returns the last change before the resourceVersion rv of each object of the relation, the newest
// first, if dependants of up were refused just before it.
func relaxations(s *Scene, up *change.Timeline, relation object.Relation, rv uint64) []*change.Reconciliation {
	last := map[string]*change.Reconciliation{}
	for _, t := range s.Known.Named(relation.To) {
		last[t.Ref.Name] = newer(last[t.Ref.Name], relaxation(s, up, relation, t, rv))
	}
	if len(last) > maxLimitRanges {
		return nil
	}
	var out []*change.Reconciliation
	for _, r := range last {
		if r != nil {
			out = append(out, r)
		}
	}
	newestFirst(out)
	return out
}

// relaxation returns such a change of the object of t, or nil.
func relaxation(s *Scene,
	up *change.Timeline, relation object.Relation, t *change.Timeline, rv uint64,
) *change.Reconciliation {
	all := s.Placed.History(t.Ref.UID)
	if kind.LimitRange.Is(t.Ref.Kind) {
		all = s.Placed.Instants(t.Ref.UID)
	}
	var last *change.Reconciliation
	for _, r := range all {
		first := r.First()
		if r.Verb != history.Created && first.RV < rv && !onlyMetadata(r) && refused(s, up, relation, first.RV) {
			last = newer(last, r)
		}
	}
	return last
}

// onlyMetadata reports whether r is an instant change of only labels or annotations.
func onlyMetadata(r *change.Reconciliation) bool {
	return r.Instant && r.Verb == history.Updated && !touches(r.First(), "spec")
}

// newer returns the later one of two changes. Both may be nil.
func newer(a, b *change.Reconciliation) *change.Reconciliation {
	if a == nil || b != nil && b.First().RV > a.First().RV {
		return b
	}
	return a
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

// refused reports whether the quota or LimitRange of the relation refused dependants of the object just before
// the resourceVersion rv: by the object's condition, or by an Event after the last creation.
func refused(s *Scene, up *change.Timeline, relation object.Relation, rv uint64) bool {
	i, _ := up.Position(rv)
	if i > 0 && change.RefusedIn(up.Versions[i-1], relation) {
		return true
	}
	made := uint64(0)
	for _, t := range s.Known.Dependants(up.Ref.UID) {
		if born := birth(t); born < rv {
			made = max(made, born)
		}
	}
	return slices.ContainsFunc(up.Events, func(e *history.Event) bool {
		return e.ResourceVersion > made && e.ResourceVersion < rv && change.RefusedBy(e, relation)
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
