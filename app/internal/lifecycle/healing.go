// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
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

// refills reports whether w replaces a Pod that the owner's open change had already made, and that was
// lost since. A StatefulSet and a DaemonSet show that: each Pod has a place of its own.
func (d *derivation) refills(w *write, o *object.Owner) bool {
	if w.verb != created {
		return false
	}
	switch {
	case kind.StatefulSet.Is(o.Kind):
		return d.lost(w, o) != nil
	case kind.DaemonSet.Is(o.Kind):
		lost := d.lost(w, o)
		return lost != nil && sameRevision(lost.t, w.t)
	}
	return false
}

// lost is the dependant that w replaces: the first in its place that went before it and that nothing
// has replaced yet.
func (d *derivation) lost(w *write, o *object.Owner) *departure {
	at := place(o, w.t)
	for _, lost := range d.departed[o.UID] {
		if !lost.replaced && lost.rv < w.rv && lost.t != w.t && lost.t.ref.Kind == w.t.ref.Kind &&
			place(o, lost.t) == at {
			return lost
		}
	}
	return nil
}

// place tells a dependant of a StatefulSet or a DaemonSet from its others: its name, or its Node. The
// dependants of other owners replace each other.
func place(o *object.Owner, t *timeline) string {
	switch last := t.last(); {
	case kind.StatefulSet.Is(o.Kind):
		return t.ref.Name
	case kind.DaemonSet.Is(o.Kind) && last != nil && last.Pod != nil:
		return last.Pod.Node
	}
	return ""
}

// sameRevision reports whether two Pods have the same template, as their DaemonSet labels them.
func sameRevision(a, b *timeline) bool {
	u, v := a.last(), b.last()
	if u == nil || v == nil {
		return false
	}
	x, y := leaf(u, revisionLabel), leaf(v, revisionLabel)
	return x != nil && y != nil && x.Value == y.Value
}

const revisionLabel = "metadata.labels[controller-revision-hash]"

// leaf returns the field at path, or nil.
func leaf(v *version, path string) *observation.Leaf {
	if v.fields == nil {
		return nil
	}
	i, found := slices.BinarySearchFunc(v.fields.leaves, path, comparePath)
	if !found {
		return nil
	}
	return &v.fields.leaves[i]
}
