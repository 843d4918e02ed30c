// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// byOwnersEnd is rule C3b: a dependant that goes after its owner.
func (d *derivation) byOwnersEnd(w *write) (cause, bool) {
	if w.verb != deleted {
		return cause{}, false
	}
	for _, o := range w.t.owners() {
		if r := d.current(o.UID); r != nil && r.verb == deleted && d.engine.owns(o, w.t) {
			return cause{line: r.line, parent: r, evidence: span.ByOwner}, true
		}
	}
	if r := d.endingNamespace(w); r != nil {
		return cause{line: r.line, parent: r, evidence: span.ByRelation}, true
	}
	return cause{}, false
}
