// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// pathMirror is the path of the annotation with the hash of the manifest of a static Pod. The kubelet
// writes it on the mirror Pod, the Pod's copy in the API.
const pathMirror = "metadata.annotations[kubernetes.io/config.mirror]"

// linkPrevious is the reason of a link to the previous reconciliation of the same thing.
const linkPrevious = "previous"

// byManifest returns the cause of a new mirror Pod after an edit of its manifest on the Node. The
// kubelet replaces the mirror Pod then. That heals nothing: it is a change, with a link to the Pod
// before.
func (f *Finder) byManifest(w *change.Write, o *object.Owner) (Cause, bool) {
	if w.Verb != history.Created || !kind.Node.Is(o.Kind) {
		return Cause{}, false
	}
	for _, gone := range f.departed[o.UID] {
		if gone.replaced || gone.rv >= w.RV || gone.timeline.Ref.Namespace != w.Timeline.Ref.Namespace ||
			gone.timeline.Ref.Name != w.Timeline.Ref.Name || !edited(gone.timeline, w.Timeline) {
			continue
		}
		gone.replaced = true
		c := Cause{Line: f.newLine(w)}
		if gone.last != nil {
			c.Links = append(c.Links, gone.last.Link(linkPrevious))
		}
		return c, true
	}
	return Cause{}, false
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
