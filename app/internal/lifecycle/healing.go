// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// healing is the cluster restoring what had converged: a trace of its own,
// which names what it reacted to. owner is nil if its last reconciliation is not
// known.
func (d *derivation) healing(w *write, owner *reconciliation, o *object.Owner) cause {
	c := cause{line: d.newLine(w)}
	d.heal(&c, w, owner, o)
	return c
}

// heal notes in c what healing refers to: the owner's last trace, and what w
// replaces.
func (d *derivation) heal(c *cause, w *write, owner *reconciliation, o *object.Owner) {
	if owner != nil {
		c.links = append(c.links, owner.link("owner"))
	}
	lost := d.lost(w, o)
	if w.verb != created || lost == nil {
		return
	}
	lost.replaced = true
	c.heals = lost.t
	if lost.rec != nil {
		if owner == nil || lost.rec.line != owner.line {
			c.links = append(c.links, lost.rec.link("heals"))
		}
		c.line.follows = append(c.line.follows, lost.rec.line)
	}
}

// refills reports whether w replaces a Pod that a StatefulSet had made and lost.
func (d *derivation) refills(w *write, o *object.Owner) bool {
	return kind.StatefulSet.Is(o.Kind) && w.verb == created && d.lost(w, o) != nil
}

// lost is the dependant that w replaces: the first that went before it and that
// nothing has replaced yet. A StatefulSet's Pod replaces that of its name.
func (d *derivation) lost(w *write, o *object.Owner) *departure {
	named := kind.StatefulSet.Is(o.Kind)
	for _, lost := range d.departed[o.UID] {
		if !lost.replaced && lost.rv < w.rv && lost.t != w.t && lost.t.ref.Kind == w.t.ref.Kind &&
			(!named || lost.t.ref.Name == w.t.ref.Name) {
			return lost
		}
	}
	return nil
}
