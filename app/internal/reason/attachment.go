// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// unattached is the reason of a Pod with a volume that cannot be attached. text is the whole message, and why its
// innermost error.
func unattached(text, why string) Reason {
	r := Reason{Category: VolumeNotAttached, For: "a volume", Text: "cannot attach a volume: " + why}
	switch {
	case has(text, "multi-attach", "waiting for detach"): // before Kubernetes 1.37, and since
		r.Category = VolumeMultiAttach
	case has(text, "does not contain driver"):
		r.Category = VolumeDriverMissing
	}
	return r
}

// attachment is the reason of a VolumeAttachment that is not attached.
func attachment(v *history.Version) Reason {
	if attacher, waiting := strings.CutPrefix(v.ProgressMessage, observation.Attaching); waiting {
		return waits("attacher " + attacher)
	}
	r := unattached(v.ProgressMessage, innermost(v.ProgressMessage))
	r.Text = "cannot attach " + volumeOf(v) + " to " + attachedTo(v) + ": " + innermost(v.ProgressMessage)
	return r
}

// Attaching returns the reason of a Pod that waits for an attachment of one of its volumes.
func Attaching(of Owned) Reason {
	if of.Reason.Category == "" {
		r := waits(of.Reason.For)
		r.Text += " to attach " + volumeOf(of.Version)
		return r
	}
	r := unattached(of.ProgressMessage, innermost(of.ProgressMessage))
	r.Since = of.Reason.Since
	return r
}

// detachment is the reason of a VolumeAttachment in deletion whose volume could not be detached; empty for any other.
func detachment(v *history.Version) Reason {
	if !kind.VolumeAttachment.Is(v.Kind) || v.ProgressMessage == "" {
		return Reason{}
	}
	r := waits("its attacher")
	r.Category = Finalizer
	r.Text += ", which cannot detach " + volumeOf(v) + " from " + attachedTo(v) + ": " + innermost(v.ProgressMessage)
	return r
}

// volumeOf names the volume of an attachment.
func volumeOf(v *history.Version) string {
	for _, r := range v.Relations {
		if r.Type == object.Volume {
			return "volume " + r.To.Name
		}
	}
	return "a volume"
}

// attachedTo names the Node of an attachment.
func attachedTo(v *history.Version) string {
	if node := v.Field(kind.FieldAttachedTo); node != nil && node.Shown != "" {
		return "node " + node.Shown
	}
	return "a node"
}
