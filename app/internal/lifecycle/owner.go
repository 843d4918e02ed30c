// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// byOwner is rule C3: the write was made by the controller of the controller
// owner.
func (d *derivation) byOwner(w *write) (cause, bool) {
	o := d.engine.controllerOf(w.t)
	if o == nil || !d.byController(w) {
		return cause{}, false
	}
	r := d.wanting(w, o)
	if kind.Of(o.Group, o.Kind.Kind).Schedule && (r == nil || r.verb != deleted) {
		return d.scheduled(w, o, r)
	}
	if r == nil {
		// It had converged before the observer began.
		if w.verb != created || d.lost(w, o) == nil {
			return cause{}, false
		}
		return d.healing(w, nil, o), true
	}
	open := r.openAt(w, d.opts.Quiet)
	switch {
	case w.verb == deleted && open && d.surplus(w, r):
		return cause{line: r.line, parent: r, evidence: span.ByOwner}, true
	case w.verb == deleted && d.surplusSet(w, o):
		return cause{line: r.line, parent: r, evidence: span.ByOwner}, true
	case w.verb == deleted:
		return cause{}, false
	case open && !d.refills(w, o):
		return cause{line: r.line, parent: r, evidence: d.byWindow(w, r, o)}, true
	case opaque(r.t) && d.lost(w, o) == nil && d.newRole(w, r, o):
		return cause{line: r.line, parent: r, evidence: span.ByOwner}, true
	}
	return d.healing(w, r, o), true
}

// byWindow is the evidence for the owner's open reconciliation r: time, if only the quiet window says
// that it is open.
func (d *derivation) byWindow(w *write, r *reconciliation, o *object.Owner) span.Evidence {
	if r.verb != deleted && r.convergedBy(w.rv) != nil && !d.newRole(w, r, o) {
		return span.ByTime
	}
	return span.ByOwner
}

// byController reports whether the owner's controller may have made the write: the audit log names it,
// or it made the object, and by managedFields nobody else made this change.
func (d *derivation) byController(w *write) bool {
	if o := d.engine.controllerOf(w.t); o != nil {
		if is, known := d.auditedController(w, o); known {
			return is
		}
	}
	if w.verb != updated || w.manager == "" && !w.changed.known || len(w.t.versions) == 0 {
		return true
	}
	if w.manager == "" {
		return false // unknown is not the controller (rule A3)
	}
	maker := writer(nil, w.t.versions[0], true)
	for _, m := range w.t.versions[0].Managers {
		if m.Subresource == "" && m.Name == w.manager {
			return !isClient(w.manager)
		}
	}
	return maker == w.manager
}

// openOwner returns the open reconciliation of the controller owner, or nil.
func (d *derivation) openOwner(w *write) *reconciliation {
	o := d.engine.controllerOf(w.t)
	if o == nil {
		return nil
	}
	if r := d.current(o.UID); r != nil && r.openAt(w, d.opts.Quiet) {
		return r
	}
	return nil
}

// ownershipCause is the reconciliation that made ownerReferences come or go:
// that of the owner which is going, or which has adopted the object.
func (d *derivation) ownershipCause(w *write) *reconciliation {
	for _, o := range w.prev.Owners {
		if r := d.current(o.UID); r != nil && r.verb == deleted && d.engine.owns(o, w.t) {
			return r
		}
	}
	return d.openOwner(w)
}
