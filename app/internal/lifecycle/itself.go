// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// byItself is an object's own controller that completes what it works on: it
// adds a field or a label to an object whose reconciliation is open. That is a
// step of the reconciliation and replaces nothing.
func (d *derivation) byItself(w *write) (cause, bool) {
	if !d.itself(w) {
		return cause{}, false
	}
	r := d.underWay(w)
	return cause{line: r.line, parent: r.parent, above: r.above, remote: r.remote, evidence: r.evidence}, true
}

// itself reports whether w is such a step.
func (d *derivation) itself(w *write) bool {
	r := d.underWay(w)
	return r != nil && w.verb == updated && r.verb != deleted && r.openAt(w, d.opts.Quiet) && ownController(w)
}

// ownController reports whether who made the write is who writes the object's
// status. A scale is somebody else's wish: an autoscaler may go by the same
// name.
func ownController(w *write) bool {
	if w.manager == "" || isClient(w.manager) || w.v == nil || w.prev == nil {
		return false
	}
	for _, m := range w.v.Managers {
		if m.Name == w.manager && m.Subresource == "scale" && !slices.ContainsFunc(w.prev.Managers, is(m)) {
			return false
		}
	}
	return slices.ContainsFunc(w.t.versions, func(v *version) bool {
		return slices.ContainsFunc(v.Managers, func(m *observation.Manager) bool {
			return m.Name == w.manager && m.Subresource == "status"
		})
	})
}
