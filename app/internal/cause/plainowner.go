// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// plainOwners are the relations of an object to an owner that is not its controller, or whose controller did not make
// the object (rule C3).
var plainOwners = [...]relation{
	{ // a component creates it: for example, Kueue makes the Workload of a Job
		verbs: created, by: hasPlainOwner, causes: ownersOf, open: ownerFor, evidence: span.ByOwner,
		unsure: openForQuiet, link: "owner",
	},
	{ // a person creates it
		verbs: created, by: ownedByPerson, causes: ownersOf, link: "owner",
	},
}

func hasPlainOwner(s *Scene, w *change.Write) bool { return plainOwner(s, w) != nil }

// ownedByPerson reports whether a person creates an object with owners.
func ownedByPerson(s *Scene, w *change.Write) bool {
	return !byComponent(s, w) && (object.ControllerOf(w.Owners()) == nil || !ByController(s, w))
}

// ownersOf returns the owners of the object that w creates.
func ownersOf(s *Scene, w *change.Write) []*change.Timeline {
	var out []*change.Timeline
	for _, o := range w.Owners() {
		if t := s.Known.Object(o.UID); t != nil && s.Known.Owns(o, w.Timeline) {
			out = append(out, t)
		}
	}
	return out
}

// ownerFor returns the open change of the owner t, or the creation of the object that w was made for, or nil.
func ownerFor(s *Scene, w *change.Write, t *change.Timeline) *change.Reconciliation {
	if r := openFor(s, w, t); r != nil && r.Verb != history.Deleted {
		return r
	}
	return adopter(s, w)
}

// openForQuiet reports whether only the quiet time keeps r, the change of the plain owner, open.
func openForQuiet(s *Scene, w *change.Write, r *change.Reconciliation) bool {
	o := plainOwner(s, w)
	return r.Timeline.Ref.UID == o.UID && byWindow(s, w, r, o) == span.ByTime
}

// plainOwner returns the only owner of the object that a component creates with w, or nil. Either the owner is
// not the controller of the object, or the component is not the controller of the owner's kind.
func plainOwner(s *Scene, w *change.Write) *object.Owner {
	if w.Verb != history.Created || w.Version == nil || len(w.Version.Owners) != 1 {
		return nil
	}
	if o := &w.Version.Owners[0]; (!o.Controller || !ByController(s, w)) && byComponent(s, w) {
		return o
	}
	return nil
}

// Adopting returns the object that a component may have created the object of w for, or nil. Both have the
// same owner, and the one was created soon after the other and became its controller. For example,
// Cluster API creates the infrastructure of a Machine before the Machine, with the MachineSet as its
// owner.
func Adopting(s *Scene, w *change.Write) *change.Timeline {
	plain := plainOwner(s, w)
	if plain == nil {
		return nil
	}
	o := s.Known.Controller(w.Timeline)
	if o == nil {
		return nil
	}
	t := s.Known.Object(o.UID)
	if t == nil || len(t.Versions) == 0 || t.Versions[0].Created.Sub(w.Version.Created) > oneLook {
		return nil
	}
	if up := s.Known.Controller(t); up == nil || up.UID != plain.UID {
		return nil
	}
	return t
}

// oneLook bounds the time between the creations of two objects by one look of a controller.
const oneLook = 10 * time.Second

// adopter returns the creation of the object that the author of w created the object of w for, or nil.
func adopter(s *Scene, w *change.Write) *change.Reconciliation {
	t := Adopting(s, w)
	if t == nil {
		return nil
	}
	for _, r := range s.Placed.History(t.Ref.UID) {
		if first := r.First(); r.Verb == history.Created && OneAuthor(s, first, w) && first.Stored() <= w.Stored() {
			return r
		}
	}
	return nil
}

// awaitsPlainOwner reports whether no version of the plain owner after w was observed. Its watch may be
// late. If the owner had lost an object before w, and not replaced it, w may be for its replacement: then it
// reports whether that has not adopted the object of w so far.
func awaitsPlainOwner(s *Scene, w *change.Write) bool {
	o := plainOwner(s, w)
	if o == nil {
		return false
	}
	t := s.Known.Object(o.UID)
	if t == nil || !after(w, []*change.Timeline{t}) {
		return true
	}
	unreplaced := func(lost *departure) bool { return lost.rv < w.RV && (!lost.replaced || lost.by > w.RV) }
	return s.Known.Controller(w.Timeline) == nil && slices.ContainsFunc(placesOf(s, o.UID).losses, unreplaced)
}

// Adopter returns the open reconciliation of an owner that a component adds to the object with w, or
// nil. The labels and annotations of that write are a step of the owner's.
func Adopter(s *Scene, w *change.Write) *change.Reconciliation {
	for _, o := range added(w) {
		if r := s.Placed.Current(o.UID); r != nil && r.OpenAt(w, s.options.Quiet) {
			return r
		}
	}
	return nil
}

// added returns the owners that a component adds to the object with w.
func added(w *change.Write) []object.Owner {
	if w.Version == nil || w.Previous == nil || w.Manager == "" || change.IsClient(w.Manager) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(w.Version.Owners), func(o object.Owner) bool {
		return slices.Contains(w.Previous.Owners, o)
	})
}

// awaitsAdopter reports whether w adds an owner without an observation from after w.
func awaitsAdopter(s *Scene, w *change.Write) bool {
	return slices.ContainsFunc(added(w), func(o object.Owner) bool {
		t := s.Known.Object(o.UID)
		return t == nil || !after(w, []*change.Timeline{t})
	})
}
