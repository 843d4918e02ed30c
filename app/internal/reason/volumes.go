// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"cmp"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// volumes is the reason of a claim, a volume, an attachment or a snapshot.
func volumes(v *history.Version, events []*history.Event) Reason {
	switch {
	case kind.PersistentVolumeClaim.Is(v.Kind):
		return claim(v, events)
	case kind.PersistentVolume.Is(v.Kind) && v.Progress == observation.ProgressFailed:
		return undeleted(cmp.Or(newest(events, failedDelete), &history.Event{
			Notice: &history.Notice{Reason: failedDelete, Note: v.ProgressMessage},
		}))
	case kind.VolumeAttachment.Is(v.Kind):
		return attachment(v)
	case kind.VolumeSnapshot.Is(v.Kind) && v.ProgressMessage == "":
		return waits("its snapshotter")
	case kind.VolumeSnapshot.Is(v.Kind):
		return Reason{
			Category: SnapshotFailed, Text: "cannot be taken: " + innermost(v.ProgressMessage), For: "its snapshotter",
		}
	}
	return Reason{}
}

// claim is the reason of a claim that is not bound, or not expanded.
func claim(v *history.Version, events []*history.Event) Reason {
	if has(v.ProgressMessage, "lost") {
		return Reason{Category: ClaimLost, Text: "has lost its volume", For: "its volume"}
	}
	if size, resizes := strings.CutPrefix(v.ProgressMessage, observation.Expanding); resizes {
		if r := resize(v, events); r.Category != "" {
			return r
		}
		return waits("its expansion to " + size)
	}
	e := newest(events, "ProvisioningFailed", "FailedBinding", "WaitForFirstConsumer", "WaitForPodScheduled",
		"ExternalProvisioning")
	if e == nil {
		return Reason{}
	}
	why := innermost(explained(e.Reason, e.Note))
	switch e.Reason {
	case "WaitForFirstConsumer", "WaitForPodScheduled":
		return Reason{Category: ClaimUnused, Text: "waits for a Pod that uses it", For: "a Pod that uses it"}
	case "ExternalProvisioning":
		r := waits("its provisioner")
		if parts := strings.Split(e.Note, "'"); len(parts) > 2 {
			r = waits("provisioner " + parts[1] + ofClass(v))
		}
		r.Category = ClaimUnprovisioned
		return r
	case "FailedBinding":
		r := Reason{Category: ClaimUnbound, Text: "cannot be bound: " + why, For: "a volume"}
		if has(e.Note, "no storage class") {
			r.Category = ClaimWithoutClass
		}
		return r
	}
	r := Reason{Category: ClaimUnprovisioned, Text: "cannot be provisioned: " + why, For: "its provisioner"}
	if has(e.Note, "storageclass") && has(e.Note, "not found") {
		r.Category = ClaimWithoutClass
	}
	return r
}

// ofClass names the storage class of a claim, or is empty.
func ofClass(v *history.Version) string {
	if class := v.Field("spec.storageClassName"); class != nil && class.Shown != "" {
		return " of storage class " + class.Shown
	}
	return ""
}

// failedDelete is the reason of an Event about a volume that cannot be deleted.
const failedDelete = "VolumeFailedDelete"

// storage is the reason of a claim that is bound and not resized, or of a volume without its claim.
func storage(v *history.Version, events []*history.Event) Reason {
	switch {
	case kind.PersistentVolumeClaim.Is(v.Kind):
		return resize(v, events)
	case !kind.PersistentVolume.Is(v.Kind) || v.ProgressMessage != observation.Released:
		return Reason{}
	}
	if e := newest(events, failedDelete); e != nil {
		return undeleted(e)
	}
	return Reason{Category: VolumeReleased, Text: "is released: its claim does not exist any more", For: "a new claim"}
}

// undeleted is the reason of a volume that cannot be deleted.
func undeleted(e *history.Event) Reason {
	return Reason{
		Category: VolumeFailed, Text: "cannot be deleted: " + innermost(explained(e.Reason, e.Note)),
		For: "its deletion",
	}
}

// resize is the reason of a claim with a larger request than its volume. The newest Event about the
// resize counts.
func resize(v *history.Version, events []*history.Event) Reason {
	r := Reason{Category: VolumeResize, For: "its resize", Fields: []Field{{Path: "spec.resources.requests.storage"}}}
	if c := v.Condition("FileSystemResizePending"); c != nil && c.Status == "True" {
		r.Text, r.Since = "waits for the resize of its file system on a node", c.Since
		return r
	}
	e := newest(
		events, "VolumeResizeFailed", "FileSystemResizeFailed", "ExternalExpanding", "VolumeResizeSuccessful",
		"FileSystemResizeSuccessful",
	)
	if e == nil {
		return Reason{}
	}
	switch e.Reason {
	case "ExternalExpanding":
		r.Text = "waits for an external controller to resize its volume"
		return r
	case "VolumeResizeFailed", "FileSystemResizeFailed":
		r.Text = "cannot be resized: " + innermost(explained(e.Reason, e.Note))
		return r
	}
	return Reason{}
}
