// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
)

// volumes is the reason of a claim or a volume.
func volumes(v *history.Version, events []*history.Event) Reason {
	if !kind.PersistentVolumeClaim.Is(v.Kind) && !kind.PersistentVolume.Is(v.Kind) {
		return Reason{}
	}
	if has(v.ProgressMessage, "lost") {
		return Reason{Category: ClaimLost, Text: "has lost its volume", For: "its volume"}
	}
	e := newest(events, "ProvisioningFailed", "FailedBinding", "WaitForFirstConsumer", "WaitForPodScheduled",
		"ExternalProvisioning", "VolumeFailedDelete", "VolumeResizeFailed")
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
			r = waits("provisioner " + parts[1])
		}
		r.Category = ClaimUnprovisioned
		return r
	case "FailedBinding":
		r := Reason{Category: ClaimUnbound, Text: "cannot be bound: " + why, For: "a volume"}
		if has(e.Note, "no storage class") {
			r.Category = ClaimWithoutClass
		}
		return r
	case "ProvisioningFailed":
		r := Reason{Category: ClaimUnprovisioned, Text: "cannot be provisioned: " + why, For: "its provisioner"}
		if has(e.Note, "storageclass") && has(e.Note, "not found") {
			r.Category = ClaimWithoutClass
		}
		return r
	case "VolumeResizeFailed":
		return Reason{Category: VolumeResize, Text: "cannot be resized: " + why, For: "its resize"}
	}
	return Reason{Category: VolumeFailed, Text: "cannot be deleted: " + why, For: "its deletion"}
}
