// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// bySlice is rule C3 for an EndpointSlice of the Service o. A slice in place of a lost one heals.
func bySlice(s *Scene, w *change.Write, o *object.Owner) (Cause, bool) {
	if w.Verb == history.Created && lossOf(s, w, o) != nil {
		return healing(s, w, s.Placed.Current(o.UID), o), true
	}
	return ofService(s, w, o)
}

// ofService returns the change of the Service o that caused w. The first slice belongs to the last
// change of the Service, after any delay of the controller. So does another one within the quiet time,
// by time: a Service may have two families of addresses. A Service that needs no slices any more loses
// them within the quiet time.
func ofService(s *Scene, w *change.Write, o *object.Owner) (Cause, bool) {
	r := s.Placed.Current(o.UID)
	switch {
	case r == nil, r.Verb == history.Deleted, w.Verb == history.Updated:
	case w.Verb == history.Created && !hasSlice(s, w, o, r.Last().RV):
		return Cause{Line: r.Lineage, Parent: r, Evidence: span.ByOwner}, true
	case w.At.At().Sub(r.Began()) <= s.options.Quiet:
		return Cause{Line: r.Lineage, Parent: r, Evidence: span.ByTime}, true
	}
	return Cause{}, false
}

// hasSlice reports whether the Service o had another EndpointSlice before w, removed after rv or not at
// all.
func hasSlice(s *Scene, w *change.Write, o *object.Owner, rv uint64) bool {
	return slices.ContainsFunc(s.Known.Dependants(o.UID), func(t *change.Timeline) bool {
		if t == w.Timeline || t.Ref.Kind != w.Timeline.Ref.Kind || len(t.Versions) == 0 {
			return false
		}
		v := t.Versions[0]
		before := v.Baseline || v.ResourceVersion < w.RV
		if v.Baseline && w.Version != nil {
			before = !v.Created.After(w.Version.Created)
		}
		return before && (t.Removal == nil || t.Removal.RV > rv)
	})
}

// MaintainsSlice reports whether the endpointslice controller may have made w, a write to one of its
// slices.
func MaintainsSlice(s *Scene, w *change.Write) bool {
	if userOf(s, w) != "" {
		return byComponent(s, w)
	}
	return w.Verb != history.Created || !change.IsClient(w.Manager)
}

// BecauseOfService reports whether rule C3 finds the cause of w, the creation of an EndpointSlice.
func BecauseOfService(s *Scene, w *change.Write) bool {
	o := change.ServiceOf(w.Timeline)
	_, found := ofService(s, w, o)
	return found || lossOf(s, w, o) != nil
}

// Merges reports whether the endpointslice controller removed the slice of w because the others have
// room for its endpoints: the author is a component or unknown, and the Service still has another
// slice. The controller never removes the last one.
func Merges(s *Scene, w *change.Write) bool {
	if _, found := ByOwnersEnd(s, w); found || !MaintainsSlice(s, w) {
		return false
	}
	return hasSlice(s, w, change.ServiceOf(w.Timeline), w.RV)
}
