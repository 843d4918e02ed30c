// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// pathMirror is the path of the annotation with the hash of the manifest of a static Pod. The kubelet
// writes it on the mirror Pod, the Pod's copy in the API.
const pathMirror = "metadata.annotations[kubernetes.io/config.mirror]"

// linkPrevious is the reason of a link to the previous reconciliation of the same thing.
const linkPrevious = "previous"

// byManifest returns the cause of a write to a mirror Pod after an edit of its manifest on the Node. The kubelet
// replaces the mirror Pod: the new one is a change, and the deletion of the old one is part of it.
func byManifest(s *Scene, w *change.Write, o *object.Owner) (Cause, bool) {
	switch {
	case !kind.Node.Is(o.Kind):
	case w.Verb == history.Created:
		return ofManifest(s, w, o)
	case w.Verb == history.Deleted:
		next := Replacing(s, w)
		if next == nil {
			return Cause{}, false
		}
		if r := s.Placed.Current(next.Ref.UID); r != nil && r.Verb == history.Created {
			return Cause{Line: r.Lineage, Parent: r, Evidence: span.ByRelation}, true
		}
	}
	return Cause{}, false
}

// ofManifest returns the cause of a new mirror Pod with another manifest than the one before, which went or goes.
// It heals nothing, and has a link to the Pod before.
func ofManifest(s *Scene, w *change.Write, o *object.Owner) (Cause, bool) {
	c := Cause{Line: newLine(s, w)}
	if at, _ := placesOf(s, o.UID).next(s, o, w.Timeline); at != nil && at.lost != nil &&
		replaces(w.Timeline, at.lost.timeline) {
		if last := at.lost.last; last != nil {
			c.Links = append(c.Links, last.Link(linkPrevious))
		}
		return c, true
	}
	old := replacedBy(s, w.Timeline, o)
	if old == nil {
		return Cause{}, false
	}
	if last := s.Placed.Current(old.Ref.UID); last != nil {
		c.Links = append(c.Links, last.Link(linkPrevious))
	}
	return c, true
}

// replacedBy returns the mirror Pod that the kubelet replaced with that of t, after an edit of its manifest, or nil.
func replacedBy(s *Scene, t *change.Timeline, o *object.Owner) *change.Timeline {
	var old *change.Timeline
	for _, other := range s.Known.Dependants(o.UID) {
		if sameStatic(t, other) && precedes(other, t) &&
			(old == nil || other.Last().ResourceVersion > old.Last().ResourceVersion) {
			old = other
		}
	}
	if old == nil || !edited(old, t) || !endsBefore(old, t) {
		return nil
	}
	return old
}

// Replacing returns the mirror Pod that the kubelet replaced the mirror Pod of w with, or nil. w is the deletion of
// that Pod, by the kubelet or by an unknown author. The kubelet creates the new one at once.
func Replacing(s *Scene, w *change.Write) *change.Timeline {
	if w.Verb != history.Deleted || !IsMirror(w) {
		return nil
	}
	o := controllerOf(s, w)
	if o == nil {
		return nil
	}
	if q := s.Trail.Audited(w); q != nil && AuthorOf(q.Write) != change.Kubelet {
		return nil
	}
	for _, t := range s.Known.Dependants(o.UID) {
		if sameStatic(t, w.Timeline) && replacedBy(s, t, o) == w.Timeline {
			return t
		}
	}
	return nil
}

// IsMirror reports whether the object of w is a mirror Pod: a Node is its controller.
func IsMirror(w *change.Write) bool {
	o := object.ControllerOf(w.Owners())
	return o != nil && kind.Node.Is(o.Kind)
}

// sameStatic reports whether a and b are two mirror Pods of one static Pod.
func sameStatic(a, b *change.Timeline) bool {
	return a != b && a.Ref.Namespace == b.Ref.Namespace && a.Ref.Name == b.Ref.Name
}

// replaces reports whether t is a mirror Pod of the static Pod of other, with another manifest.
func replaces(t, other *change.Timeline) bool { return sameStatic(t, other) && edited(other, t) }

// precedes reports whether the object of a is older than that of b, whose creation was observed.
func precedes(a, b *change.Timeline) bool {
	return len(a.Versions) > 0 && len(b.Versions) > 0 && !b.Versions[0].Baseline &&
		a.Last().ResourceVersion < b.Versions[0].ResourceVersion
}

// endsBefore reports whether the deletion of a began just before the creation of b.
func endsBefore(a, b *change.Timeline) bool {
	end := a.Last().Deleting
	if end.IsZero() && a.Removal != nil {
		end = a.Removal.Seen
	}
	return !end.IsZero() && b.Versions[0].Created.Sub(end).Abs() <= oneLook
}

// edited reports whether two mirror Pods have different manifests.
func edited(a, b *change.Timeline) bool {
	u, v := a.Last(), b.Last()
	if u == nil || v == nil {
		return false
	}
	x, y := u.Field(pathMirror), v.Field(pathMirror)
	return x != nil && y != nil && x.Value != y.Value
}
