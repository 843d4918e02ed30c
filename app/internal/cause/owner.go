// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// controllerOf returns the controller owner of w's object at the time of w, or nil.
func controllerOf(s *Scene, w *change.Write) *object.Owner {
	if o := object.ControllerOf(w.Owners()); o != nil && s.Known.Owns(*o, w.Timeline) {
		return o
	}
	return nil
}

// byOwner is rule C3: the write is by the controller of the controller owner.
func byOwner(s *Scene, w *change.Write) (Cause, bool) {
	o := controllerOf(s, w)
	if o == nil || adoptedLater(w) || !ByController(s, w) {
		return Cause{}, false
	}
	if change.ServiceOf(w.Timeline) != nil {
		if !MaintainsSlice(s, w) {
			return Cause{}, false
		}
		return bySlice(s, w, o)
	}
	r := wanting(s, w, o)
	rescales := isFoundScaling(w, r)
	c, found := ofWanting(s, w, o, r, rescales)
	if rescales {
		c.rescales = r
	}
	return c, found
}

// ofWanting returns the cause of w, by the reconciliation r of its owner that wanted it. r may be nil. rescales means
// that w shows r to be a scaling.
func ofWanting(s *Scene, w *change.Write, o *object.Owner, r *change.Reconciliation, rescales bool) (Cause, bool) {
	is := r
	if rescales {
		is = r.AsScaling()
	}
	if kind.Of(o.Group, o.Kind.Kind).Schedule && (r == nil || r.Verb != history.Deleted) {
		return scheduled(s, w, o, r)
	}
	if r == nil || !is.OpenAt(w, s.options.Quiet) {
		if c, found := byManifest(s, w, o); found {
			return c, true
		}
	}
	if r == nil {
		// The owner had converged before the start of the observer.
		if w.Verb != history.Created || lossOf(s, w, o) == nil {
			return Cause{}, false
		}
		return healing(s, w, nil, o), true
	}
	open := is.OpenAt(w, s.options.Quiet)
	switch {
	case w.Verb == history.Deleted && open && surplus(s, w, r):
		return Cause{Line: r.Lineage, Parent: r, Evidence: byDeletion(s, w, o)}, true
	case w.Verb == history.Deleted && (surplusSet(s, w, o) || surplusRequest(s, w, o)):
		return Cause{Line: r.Lineage, Parent: r, Evidence: span.ByOwner}, true
	case w.Verb == history.Deleted:
		return Cause{}, false
	case open && !restores(s, w, o):
		return Cause{Line: r.Lineage, Parent: r, Evidence: byWindow(s, w, is, o)}, true
	case opaqueAt(r.Timeline, w) && lossOf(s, w, o) == nil && newRole(s, w, r, o):
		return Cause{Line: r.Lineage, Parent: r, Evidence: span.ByOwner}, true
	case opaqueAt(r.Timeline, w) && firstUpdate(s, w, r, o):
		return Cause{Line: r.Lineage, Parent: r, Evidence: span.ByTime}, true
	}
	return healing(s, w, r, o), true
}

// opaqueAt reports whether nothing showed before w when the controller of t has handled a change. Its kind may
// have a convergence signal: then w precedes the first status of the object.
func opaqueAt(t *change.Timeline, w *change.Write) bool {
	i, _ := t.Position(w.RV)
	return judge.Opaque(t.Last()) || i > 0 && judge.Opaque(t.Versions[i-1])
}

// adoptedLater reports whether w created the object without a controller.
func adoptedLater(w *change.Write) bool {
	return w.Verb == history.Created && w.Version != nil && object.ControllerOf(w.Version.Owners) == nil
}

// byWindow returns the evidence for the owner's open reconciliation r. It is time if r is open only
// by the quiet window. It is also time if r is one of several, and only the order of arrival shows
// which one came before w.
func byWindow(s *Scene, w *change.Write, r *change.Reconciliation, o *object.Owner) span.Evidence {
	if byArrival(s, w, r) {
		return span.ByTime
	}
	if r.Verb != history.Deleted && r.ConvergedBy(w.RV) != nil && !newRole(s, w, r, o) {
		return span.ByTime
	}
	return span.ByOwner
}

// byDeletion returns the evidence for the open reconciliation of the owner o as the cause of the deletion w. It
// is time for an owner of an unknown kind: nothing shows why its controller, or somebody else, deletes.
func byDeletion(s *Scene, w *change.Write, o *object.Owner) span.Evidence {
	if kind.Of(o.Group, o.Kind.Kind).Controller != "" {
		return span.ByOwner
	}
	if is, _ := auditedController(s, w, o); is {
		return span.ByOwner
	}
	return span.ByTime
}

// byArrival reports whether only the order of arrival decides between r and an earlier state of its
// object: one of the objects of w and r is in another storage (history/storage.go).
func byArrival(s *Scene, w *change.Write, r *change.Reconciliation) bool {
	if w.Timeline == r.Timeline || !w.Timeline.IsForeign() && !r.Timeline.IsForeign() {
		return false
	}
	all := r.Timeline.Versions
	return len(s.Placed.History(r.Timeline.Ref.UID)) > 1 || len(all) > 0 && all[0].Baseline
}

// ByController reports whether the write may be by the owner's controller. Either the audit log
// names this controller. Or it made or adopted the object, and managedFields show no other author of
// this change. No controller is kubectl.
func ByController(s *Scene, w *change.Write) bool {
	if o := controllerOf(s, w); o != nil {
		if is, known := auditedController(s, w, o); known {
			return is
		}
	}
	switch {
	case change.IsClient(w.Manager):
		return false
	case w.Verb != history.Updated, w.Manager == "" && !w.Changed.Known, len(w.Timeline.Versions) == 0:
		return true
	}
	// An unknown author is not the controller (rule A3).
	return isMaker(s, w, w.Timeline) || w.Manager != "" && adoptedBy(w.Timeline) == w.Manager
}

// adoptedBy returns the field manager that gave the object its controller, after another one had made the
// object; "" if there is none.
func adoptedBy(t *change.Timeline) string {
	for i, v := range t.Versions {
		if i > 0 && object.ControllerOf(v.Owners) != nil && object.ControllerOf(t.Versions[i-1].Owners) == nil {
			return change.Writer(t.Versions[i-1], v, true)
		}
	}
	return ""
}

// OpenOwner returns the open reconciliation of the object's controller owner, or nil.
func OpenOwner(s *Scene, w *change.Write) *change.Reconciliation {
	o := controllerOf(s, w)
	if o == nil {
		return nil
	}
	if r := s.Placed.Current(o.UID); r != nil && r.OpenAt(w, s.options.Quiet) {
		return r
	}
	return nil
}

// OwnershipCause returns the cause of added or removed ownerReferences, or nil: the deletion of an
// owner, or the reconciliation of the adopting owner.
func OwnershipCause(s *Scene, w *change.Write) *change.Reconciliation {
	for _, o := range w.Previous.Owners {
		if r := s.Placed.Current(o.UID); r != nil && r.Verb == history.Deleted && s.Known.Owns(o, w.Timeline) {
			return r
		}
	}
	return OpenOwner(s, w)
}
