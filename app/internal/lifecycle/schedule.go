// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// scheduled is the work of a controller that makes objects at set times: each is a change of its own,
// linked to the last change of the schedule. The removal of an old one belongs to the newest.
func (d *derivation) scheduled(w *write, o *object.Owner, owner *reconciliation) (cause, bool) {
	switch w.verb {
	case created:
		c := cause{line: d.newLine(w)}
		if owner != nil {
			c.links = append(c.links, owner.link("owner"))
		}
		return c, true
	case deleted:
		if r := d.latestRun(w, o); r != nil {
			return cause{line: r.line, parent: r, evidence: span.ByTime}, true
		}
	}
	return cause{}, false
}

// latestRun returns the reconciliation of the newest object of a schedule that had ended before w, if
// the schedule's controller removed as many as its history limits say.
func (d *derivation) latestRun(w *write, o *object.Owner) *reconciliation {
	var newest *reconciliation
	for _, t := range d.engine.dependantsOf(o.UID) {
		if t == w.t || t.removal != nil && t.removal.rv < w.rv {
			continue
		}
		r := d.current(t.ref.UID)
		if r == nil || r.verb != created || !d.alive(r.line, w) {
			continue
		}
		if newest == nil || r.first().rv > newest.first().rv {
			newest = r
		}
	}
	return newest
}
