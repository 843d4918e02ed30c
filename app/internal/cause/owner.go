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
func (f *Finder) controllerOf(w *change.Write) *object.Owner {
	if o := object.ControllerOf(w.Owners()); o != nil && f.Owns(*o, w.Timeline) {
		return o
	}
	return nil
}

// byOwner is rule C3: the write is by the controller of the controller owner.
func (f *Finder) byOwner(w *change.Write) (Cause, bool) {
	o := f.controllerOf(w)
	if o == nil || adoptedLater(w) || !f.ByController(w) {
		return Cause{}, false
	}
	if change.ServiceOf(w.Timeline) != nil {
		if !f.MaintainsSlice(w) {
			return Cause{}, false
		}
		return f.bySlice(w, o)
	}
	r := f.wanting(w, o)
	if kind.Of(o.Group, o.Kind.Kind).Schedule && (r == nil || r.Verb != history.Deleted) {
		return f.scheduled(w, o, r)
	}
	if r == nil || !r.OpenAt(w, f.options.Quiet) {
		if c, found := f.byManifest(w, o); found {
			return c, true
		}
	}
	if r == nil {
		// The owner had converged before the start of the observer.
		if w.Verb != history.Created || f.lost(w, o) == nil {
			return Cause{}, false
		}
		return f.healing(w, nil, o), true
	}
	open := r.OpenAt(w, f.options.Quiet)
	switch {
	case w.Verb == history.Deleted && open && f.surplus(w, r):
		return Cause{Line: r.Lineage, Parent: r, Evidence: f.byDeletion(w, o)}, true
	case w.Verb == history.Deleted && (f.surplusSet(w, o) || f.surplusRequest(w, o)):
		return Cause{Line: r.Lineage, Parent: r, Evidence: span.ByOwner}, true
	case w.Verb == history.Deleted:
		return Cause{}, false
	case open && !f.refills(w, o):
		return Cause{Line: r.Lineage, Parent: r, Evidence: f.byWindow(w, r, o)}, true
	case opaqueAt(r.Timeline, w) && f.lost(w, o) == nil && f.newRole(w, r, o):
		return Cause{Line: r.Lineage, Parent: r, Evidence: span.ByOwner}, true
	case opaqueAt(r.Timeline, w) && f.firstUpdate(w, r, o):
		return Cause{Line: r.Lineage, Parent: r, Evidence: span.ByTime}, true
	}
	return f.healing(w, r, o), true
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
func (f *Finder) byWindow(w *change.Write, r *change.Reconciliation, o *object.Owner) span.Evidence {
	if f.byArrival(w, r) {
		return span.ByTime
	}
	if r.Verb != history.Deleted && r.ConvergedBy(w.RV) != nil && !f.newRole(w, r, o) {
		return span.ByTime
	}
	return span.ByOwner
}

// byDeletion returns the evidence for the open reconciliation of the owner o as the cause of the deletion w. It
// is time for an owner of an unknown kind: nothing shows why its controller, or somebody else, deletes.
func (f *Finder) byDeletion(w *change.Write, o *object.Owner) span.Evidence {
	if kind.Of(o.Group, o.Kind.Kind).Controller != "" {
		return span.ByOwner
	}
	if is, _ := f.auditedController(w, o); is {
		return span.ByOwner
	}
	return span.ByTime
}

// byArrival reports whether only the order of arrival decides between r and an earlier state of its
// object: one of the objects of w and r is in another storage (history/storage.go).
func (f *Finder) byArrival(w *change.Write, r *change.Reconciliation) bool {
	if w.Timeline == r.Timeline || !w.Timeline.IsForeign() && !r.Timeline.IsForeign() {
		return false
	}
	all := r.Timeline.Versions
	return len(f.History(r.Timeline.Ref.UID)) > 1 || len(all) > 0 && all[0].Baseline
}

// ByController reports whether the write may be by the owner's controller. Either the audit log
// names this controller. Or it made the object, and managedFields show no other author of this
// change.
func (f *Finder) ByController(w *change.Write) bool {
	if o := f.controllerOf(w); o != nil {
		if is, known := f.auditedController(w, o); known {
			return is
		}
	}
	if w.Verb != history.Updated || w.Manager == "" && !w.Changed.Known || len(w.Timeline.Versions) == 0 {
		return true
	}
	if w.Manager == "" {
		return false // an unknown author is not the controller (rule A3)
	}
	maker := change.Writer(nil, w.Timeline.Versions[0], true)
	for _, m := range w.Timeline.Versions[0].Managers {
		if m.Subresource == "" && m.Name == w.Manager {
			return !change.IsClient(w.Manager)
		}
	}
	return maker == w.Manager
}

// OpenOwner returns the open reconciliation of the object's controller owner, or nil.
func (f *Finder) OpenOwner(w *change.Write) *change.Reconciliation {
	o := f.controllerOf(w)
	if o == nil {
		return nil
	}
	if r := f.Current(o.UID); r != nil && r.OpenAt(w, f.options.Quiet) {
		return r
	}
	return nil
}

// OwnershipCause returns the cause of added or removed ownerReferences, or nil: the deletion of an
// owner, or the reconciliation of the adopting owner.
func (f *Finder) OwnershipCause(w *change.Write) *change.Reconciliation {
	for _, o := range w.Previous.Owners {
		if r := f.Current(o.UID); r != nil && r.Verb == history.Deleted && f.Owns(o, w.Timeline) {
			return r
		}
	}
	return f.OpenOwner(w)
}
