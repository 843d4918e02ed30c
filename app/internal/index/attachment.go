// SPDX-License-Identifier: Apache-2.0

package index

import (
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// Attachments returns the attachments of a Pod's volumes to its Node: Pod → claim → volume → attachment.
func (v View) Attachments(pod *change.Timeline) []*change.Timeline {
	node := nodeOf(pod)
	if node == "" {
		return nil
	}
	var out []*change.Timeline
	for _, r := range pod.Refers() {
		if r.Type != object.Claim {
			continue
		}
		for _, claim := range v.Named(r.To) {
			volume, bound := change.Related(claim, object.Volume)
			if !bound {
				continue
			}
			for _, t := range v.Referrers(volume) {
				if kind.VolumeAttachment.Is(t.Ref.Kind) && attachedTo(t) == node {
					out = append(out, t)
				}
			}
		}
	}
	return out
}

// Attached returns the Pods on the Node of an attachment with a claim for its volume.
func (v View) Attached(attachment *change.Timeline) []*change.Timeline {
	volume, node := volumeOf(attachment), attachedTo(attachment)
	if node == "" {
		return nil
	}
	var out []*change.Timeline
	for _, claim := range v.Referrers(volume) {
		if !kind.PersistentVolumeClaim.Is(claim.Ref.Kind) {
			continue
		}
		for _, t := range v.Referrers(object.NameOf(&claim.Ref)) {
			if nodeOf(t) == node {
				out = append(out, t)
			}
		}
	}
	return out
}

// nodeOf returns the name of the Node of a Pod; "" for an object of another kind, and without a Node.
func nodeOf(t *change.Timeline) string {
	if last := t.Last(); last != nil && last.Pod != nil {
		return last.Pod.Node
	}
	return ""
}

// volumeOf returns the name of the volume of a claim or an attachment.
func volumeOf(t *change.Timeline) object.Name {
	volume, _ := change.Related(t, object.Volume)
	return volume
}

// attachedTo returns the name of the Node of an attachment, or "".
func attachedTo(t *change.Timeline) string {
	if node := t.Last().Field(kind.FieldAttachedTo); node != nil {
		return node.Shown
	}
	return ""
}
