// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"cmp"
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
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
	if owner = cmp.Or(owner, s.Placed.Current(o.UID)); owner != nil {
		c.Links = append(c.Links, owner.Link("owner"))
	}
	lost := lossOf(s, w, o)
	if lost == nil {
		return
	}
	c.Heals = lost.timeline
	if lost.last != nil {
		if owner == nil || lost.last.Lineage != owner.Lineage {
			c.Links = append(c.Links, lost.last.Link("heals"))
		}
		c.follows = lost.last.Lineage
	}
}

// restores reports whether w replaces a lost dependant of r, the open change of the owner. A Pod that fails before it
// is ready is an attempt of r. So is each failed Pod of an owner that runs until an end. A new Pod with a new template
// belongs to the change of the template. The names of other dependants show whether they have the same place.
func restores(s *Scene, w *change.Write, o *object.Owner) bool {
	lost := lossOf(s, w, o)
	switch {
	case lost == nil, otherRevision(lost.timeline, w.Timeline):
		return false
	case kind.Job.Is(o.Kind), kind.Of(o.Group, o.Kind.Kind).Replicas == kind.NoReplicas:
		return !lost.failed && (kind.Job.Is(o.Kind) || lost.timeline.Ref.Name == w.Timeline.Ref.Name)
	}
	return !lost.failed || wasReady(lost.timeline)
}

// lossOf returns the dependant that w, a creation, replaces, or nil.
func lossOf(s *Scene, w *change.Write, o *object.Owner) *departure {
	if w.Verb != history.Created {
		return nil
	}
	at, _ := placesOf(s, o.UID).next(s, o, w.Timeline)
	if at == nil || at.lost == nil || at.lost.timeline == w.Timeline || edited(at.lost.timeline, w.Timeline) {
		return nil
	}
	return at.lost
}

// wasReady reports whether the Pod of t was ready at any time.
func wasReady(t *change.Timeline) bool {
	return slices.ContainsFunc(t.Versions, func(v *history.Version) bool { return judge.Holds(v, judge.PodReady) })
}

// otherRevision reports whether two Pods have different templates, by the revision labels of their owner.
func otherRevision(a, b *change.Timeline) bool {
	u, v := a.Last(), b.Last()
	if u == nil || v == nil {
		return false
	}
	x, y := u.Field(RevisionLabel), v.Field(RevisionLabel)
	return x != nil && y != nil && x.Value != y.Value
}

// RevisionLabel is the path of a Pod's label with the revision of its template.
const RevisionLabel = "metadata.labels[controller-revision-hash]"
