// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
)

// misfits are parts of the scheduler's messages about nodes that do not fit, and their categories.
var misfits = []struct {
	text     string
	category Category
}{
	{"Insufficient cpu", UnschedulableCPU},
	{"Insufficient memory", UnschedulableMemory},
	{"Insufficient ", UnschedulableResource},
	{"Too many pods", UnschedulableResource},
	{"taint", UnschedulableTaint},
	{"were unschedulable", UnschedulableCordon},
	{"node affinity/selector", UnschedulableNodeSelector},
	{"node selector", UnschedulableNodeSelector},
	{"requested node name", UnschedulableNodeSelector},
	{"affinity rules", UnschedulableAffinity},
	{"topology spread", UnschedulableTopologySpread},
	{"free ports", UnschedulablePort},
	{"volume zone", UnschedulableVolumeZone},
	{"volume node affinity conflict", UnschedulableVolumeZone},
	{"PersistentVolume's node affinity", UnschedulableVolumeZone},
	{"unbound immediate PersistentVolumeClaims", VolumeNotBound},
	{"available persistent volumes to bind", VolumeNotBound},
	{"ReadWriteOncePod", Unschedulable}, // another Pod has the volume for itself
	{"persistentvolumeclaim", VolumeNotBound},
	{"PersistentVolumeClaim", VolumeNotBound},
	{"no nodes available", UnschedulableNoNodes},
}

// NotScheduled is in the text of the reason of a Pod without a node, before the message of its condition.
const NotScheduled = "cannot be scheduled: "

// scheduling is the reason of a Pod without a node.
func scheduling(v *history.Version, events []*history.Event) Reason {
	if v.Pod == nil || v.Pod.Node != "" || v.Pod.Phase == "Failed" {
		return Reason{}
	}
	if gates := v.Pod.SchedulingGates; len(gates) > 0 {
		r := waits("scheduling gates " + strings.Join(gates, ", "))
		r.Category = SchedulingGated
		return r
	}
	c := refused(v, judge.PodScheduled)
	if c == nil {
		return waits("a node")
	}
	// An autoscaler, cluster-autoscaler or Karpenter, promises a node.
	if e := newest(events, "TriggeredScaleUp", "Nominated", "NotTriggerScaleUp"); e != nil &&
		e.Reason != "NotTriggerScaleUp" {
		return waits("a new node")
	}
	return Reason{
		Category: unschedulable(c.Message), Text: NotScheduled + misfit(says(c)),
		For: "a node that fits",
	}
}

// clauses are the reasons of the scheduler, each with its number of nodes.
var clauses = regexp.MustCompile(`(\d+) ([^,]+)`)

// unschedulable returns the category of the reason that excludes most nodes.
func unschedulable(text string) Category {
	text = misfit(text)
	if _, rest, found := strings.Cut(text, "nodes are available: "); found {
		text = rest
	}
	best, most := Unschedulable, -1
	pieces := clauses.FindAllStringSubmatch(text, -1)
	if len(pieces) == 0 {
		pieces = [][]string{{text, "0", text}}
	}
	for _, piece := range pieces {
		n, err := strconv.Atoi(piece[1])
		if err != nil || n <= most {
			continue
		}
		for _, m := range misfits {
			if strings.Contains(piece[2], m.text) {
				best, most = m.category, n
				if best == VolumeNotBound && strings.HasSuffix(piece[2], "\" not found") {
					best = ClaimMissing
				}
				break
			}
		}
	}
	return best
}

// misfit returns the first sentence of the scheduler's message. The next ones are about preemption.
func misfit(text string) string {
	text, _, _ = strings.Cut(text, ". ")
	return strings.TrimSuffix(text, ".")
}
