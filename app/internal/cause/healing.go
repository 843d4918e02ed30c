// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"cmp"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// healing returns the cause of a write for the restoration of a converged state: a separate trace,
// with references to the reasons. owner is nil if the last reconciliation of the owner is unknown.
func healing(s *Scene, w *change.Write, owner *change.Reconciliation, o *object.Owner) Cause {
	c := Cause{Line: newLine(s, w)}
	heal(s, &c, w, owner, o)
	return c
}

// heal adds the references of healing to c: the owner's last trace, and the object replaced by w.
func heal(s *Scene, c *Cause, w *change.Write, owner *change.Reconciliation, o *object.Owner) {
	if owner != nil {
		c.Links = append(c.Links, owner.Link("owner"))
	}
	lost := lossOf(s, w, o)
	if w.Verb != history.Created || lost == nil {
		return
	}
	c.Heals, c.replaces, c.by = lost.timeline, lost, w.RV
	if lost.last != nil {
		if owner == nil || lost.last.Lineage != owner.Lineage {
			c.Links = append(c.Links, lost.last.Link("heals"))
		}
		c.follows = lost.last.Lineage
	}
}

// refills reports whether w replaces a lost Pod of the owner's open change. Only a StatefulSet and
// a DaemonSet show this, because each of their Pods has its own place.
func refills(s *Scene, w *change.Write, o *object.Owner) bool {
	if w.Verb != history.Created {
		return false
	}
	switch {
	case kind.StatefulSet.Is(o.Kind):
		return lossOf(s, w, o) != nil
	case kind.DaemonSet.Is(o.Kind):
		gone := lossOf(s, w, o)
		return gone != nil && sameRevision(gone.timeline, w.Timeline)
	}
	return false
}

// lossOf returns the dependant replaced by w, or nil: the first loss in the same place before w
// without a replacement.
func lossOf(s *Scene, w *change.Write, o *object.Owner) *departure {
	at := place(o, w.Timeline)
	for _, lost := range s.losses.byOwner[o.UID] {
		if !lost.replaced && lost.rv < w.RV && lost.timeline != w.Timeline && !edited(lost.timeline, w.Timeline) &&
			lost.timeline.Ref.Kind == w.Timeline.Ref.Kind &&
			place(o, lost.timeline) == at {
			return lost
		}
	}
	return nil
}

// place returns the place of a dependant among the dependants of its owner o: its name in a
// StatefulSet or on a Node, or its Node in a DaemonSet. All dependants of other owners replace each other.
func place(o *object.Owner, t *change.Timeline) string {
	switch last := t.Last(); {
	case kind.StatefulSet.Is(o.Kind):
		return t.Ref.Name
	case kind.Node.Is(o.Kind):
		return t.Ref.Namespace + "/" + t.Ref.Name
	case kind.DaemonSet.Is(o.Kind) && last != nil && last.Pod != nil:
		return cmp.Or(last.Pod.Node, change.PlacedOn(t)) // a new Pod is not bound at once
	}
	return ""
}

// sameRevision reports whether two Pods have the same template, by the revision label of their
// DaemonSet.
func sameRevision(a, b *change.Timeline) bool {
	u, v := a.Last(), b.Last()
	if u == nil || v == nil {
		return false
	}
	x, y := u.Field(RevisionLabel), v.Field(RevisionLabel)
	return x != nil && y != nil && x.Value == y.Value
}

// RevisionLabel is the path of a Pod's label with the revision of its template.
const RevisionLabel = "metadata.labels[controller-revision-hash]"
