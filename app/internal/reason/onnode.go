// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
)

// OnNode returns the reason of a Pod, which has not converged, by its Node. It is empty if the Node is
// ready, and for a Pod that has failed.
func OnNode(pod, node *history.Version) Reason {
	c := node.Condition(judge.PodReady)
	if c == nil || c.Status == "True" || pod.Pod == nil || pod.Pod.Phase == "Failed" {
		return Reason{}
	}
	r := Reason{Category: NodeNotReady, For: "node " + node.Name, At: *node.Ref, Since: c.Since}
	if pod.Created.After(r.Since) {
		r.Since = pod.Created
	}
	verb := "is on node "
	if !pod.Deleting.IsZero() {
		verb = "is terminating on node "
	}
	if c.Status == "Unknown" {
		r.Category, r.Text = NodeLost, verb+node.Name+", whose kubelet does not answer"
		return r
	}
	r.Text = verb + node.Name + ", which is not ready: " + says(c)
	return r
}

// Overdue returns the reason of a Pod that is still there after its grace period.
func Overdue(pod *history.Version) Reason {
	return Reason{
		Category: TerminationOverdue,
		Text:     "is still terminating after its grace period",
		For:      "its containers to stop",
		Since:    pod.Deleting,
	}
}
