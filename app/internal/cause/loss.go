// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
)

// departure is the loss of a dependant. Its controller may replace it.
type departure struct {
	timeline *change.Timeline
	// rv is the resourceVersion of the loss.
	rv uint64
	// last is the newest reconciliation of the lost object, or nil.
	last *change.Reconciliation
	// replaced means that a later object has replaced it, with the write at by; by may be 0.
	replaced bool
	by       uint64
}

// losses are the losses of dependants without an action of their controller, oldest first, by the UID of the
// controller owner. A dependant on its way out counts as well.
type losses struct {
	byOwner map[types.UID][]*departure
}

// Lose records a dependant that was removed, or failed permanently, without an action of its
// controller. Its replacement is healing (rule C3).
func Lose(s *Scene, w *change.Write) {
	failed := w.Part == change.Observed && w.Version != nil && w.Previous != nil && judge.Failure(w.Version) != "" &&
		judge.Failure(w.Previous) == ""
	if w.Verb != history.Deleted && !failed {
		return
	}
	o := controllerOf(s, w)
	if o == nil || kind.Of(o.Group, o.Kind.Kind).Schedule {
		return
	}
	r := s.Placed.Current(w.Timeline.Ref.UID)
	if w.Verb == history.Deleted && r != nil && r.Verb == history.Deleted && r.Parent != nil &&
		(r.Parent.Timeline.Ref.UID == o.UID || replaces(r.Parent.Timeline, w.Timeline)) {
		return // removed by its controller
	}
	for _, known := range s.losses.byOwner[o.UID] {
		if known.timeline == w.Timeline {
			return
		}
	}
	put(&s.losses.byOwner, o.UID, append(s.losses.byOwner[o.UID], &departure{
		timeline: w.Timeline, rv: w.RV, last: r, replaced: w.Timeline.Past != nil && w.Timeline.Past.Replaced,
	}))
}

// rememberLoss records the loss of a folded object. Its replacement may still come.
func rememberLoss(s *Scene, t *change.Timeline) {
	p := t.Past
	if p == nil || !p.Gone || !p.Lost {
		return
	}
	if o := s.Known.Controller(t); o != nil {
		list := s.losses.byOwner[o.UID]
		list = append(list, &departure{timeline: t, rv: p.RV, last: s.Placed.Current(t.Ref.UID), replaced: p.Replaced})
		slices.SortFunc(list, func(a, b *departure) int { return cmp.Compare(a.rv, b.rv) })
		put(&s.losses.byOwner, o.UID, list)
	}
}

// Departed reports whether the object was lost, and whether a later one has replaced it.
func Departed(s *Scene, t *change.Timeline) (lost, replaced bool) {
	for _, list := range s.losses.byOwner {
		for _, known := range list {
			if known.timeline == t {
				return true, known.replaced
			}
		}
	}
	return false, false
}
