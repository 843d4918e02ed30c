// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
)

// Owned is an object that another one owns, with the reason why it does not have its desired state.
type Owned struct {
	*history.Version
	Reason Reason
}

// WaitsForPods reports whether v is of a kind with a reason by its Pods. A broken Pod of an earlier change stops
// the rollout of a StatefulSet or a DaemonSet. A Job tries again after a failed Pod.
func WaitsForPods(v *history.Version) bool {
	return v.Workload != nil && (kind.StatefulSet.Is(v.Kind) || kind.DaemonSet.Is(v.Kind)) || kind.Job.Is(v.Kind)
}

// Behind returns the reason of v by one of its Pods: the first one that cannot continue. Of a Job, owned is the
// newest Pod alone, and counts if it failed. It is empty if there is none. The Pod may belong to an earlier change.
func Behind(v *history.Version, owned []Owned) Reason {
	switch {
	case !WaitsForPods(v):
		return Reason{}
	case kind.Job.Is(v.Kind):
		return retry(owned)
	}
	pods := slices.DeleteFunc(slices.Clone(owned), func(o Owned) bool {
		return o.Pod == nil || o.Reason.Category == ""
	})
	if len(pods) == 0 {
		return Reason{}
	}
	slices.SortFunc(pods, func(a, b Owned) int {
		return cmp.Or(cmp.Compare(ordinal(a.Name), ordinal(b.Name)), strings.Compare(a.Name, b.Name))
	})
	first := pods[0]
	if kind.StatefulSet.Is(v.Kind) {
		r := Reason{
			Category: Ordinal, For: "Pod " + first.Name, At: *first.Ref,
			Text: "waits for Pod " + first.Name + ", which " + first.Reason.Text,
		}
		if judge.OrderedReady(v) {
			r.Cause = first.Reason.Category // the controller replaces no Pod that is not ready
		}
		return r
	}
	w, place := v.Workload, ""
	ofNode := first.Reason.Category == NodeLost || first.Reason.Category == NodeNotReady
	if first.Pod.Node != "" && !ofNode {
		place = " on node " + first.Pod.Node
	}
	return Reason{
		Category: DaemonSetNodes, For: "Pod " + first.Name, At: *first.Ref,
		Text: fmt.Sprintf("misses %d of %d nodes: Pod %s%s %s", max(0, w.Replicas-w.Available), w.Replicas, first.Name,
			place, first.Reason.Text),
	}
}

// retry returns the reason of a Job whose newest Pod failed: its controller makes another one after a pause.
func retry(owned []Owned) Reason {
	if len(owned) == 0 || owned[0].Reason.Category != PodFailed {
		return Reason{}
	}
	newest := owned[0]
	return Reason{
		Category: JobRetry, For: "its next Pod", At: *newest.Ref, Container: newest.Reason.Container,
		Text: "tries again after Pod " + newest.Name + " " + newest.Reason.Text,
	}
}

// Unbound returns the reason of a Pod with a claim that is not bound, by the reason of the claim. It is that of
// the Pod alone if the claim has none.
func Unbound(pod Reason, claim Owned) Reason {
	if claim.Reason.Category == "" {
		return pod
	}
	return Reason{
		Category: VolumeNotBound, Cause: claim.Reason.Category, For: pod.For, At: *claim.Ref, Since: claim.Reason.Since,
		Text: "waits for PersistentVolumeClaim " + claim.Name + ", which " + claim.Reason.Text,
	}
}

// ordinal returns the number at the end of the name of a StatefulSet's Pod, or 0.
func ordinal(name string) int {
	n, _ := strconv.Atoi(name[strings.LastIndexByte(name, '-')+1:])
	return n
}

// nodeless is the reason of a DaemonSet that selects no node.
func nodeless(v *history.Version) Reason {
	if !kind.DaemonSet.Is(v.Kind) || v.Workload == nil || v.Workload.Replicas > 0 {
		return Reason{}
	}
	return Reason{
		Category: DaemonSetNodes, For: "a node that fits",
		Text: "runs on no node: none fits its node selector, affinity and tolerations",
	}
}
