// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"cmp"
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// Cluster is what is known of the Nodes and the schedulers of a cluster.
type Cluster interface {
	// LacksNode reports whether the cluster surely has no Node of that name.
	LacksNode(name string) bool
	// HasScheduler reports whether a scheduler of that name has handled a Pod. One that is busy is not silent.
	HasScheduler(name string) bool
}

// Silent returns the reason of an object without any reaction of the component that has to act on it: a Pod without
// its scheduler or its node, a Job without its manager. It is empty for any other object, and counts only after a
// while.
func Silent(v *history.Version, known Cluster) Reason {
	if !v.Deleting.IsZero() {
		return Reason{}
	}
	if manager := judge.JobManager(v); manager != "" && len(v.Conditions) == 0 && v.Workload != nil &&
		v.Workload.Total == 0 {
		return Reason{
			Category: JobManager, For: manager, Since: v.Created,
			Text: "waits for " + manager + ", which manages it and has not begun; the built-in controller ignores it",
		}
	}
	p := v.Pod
	switch {
	case p == nil, p.Phase == "Failed", p.Phase == "Succeeded":
	case p.Node == "" && len(p.SchedulingGates) == 0 && v.Condition(judge.PodScheduled) == nil:
		scheduler := cmp.Or(p.Scheduler, object.DefaultScheduler)
		if known.HasScheduler(scheduler) {
			return Reason{}
		}
		return Reason{
			Category: SchedulerMissing, For: "scheduler " + scheduler, Since: v.Created,
			Text: "waits for scheduler " + scheduler + ", which does not react: no scheduler of that name seems to run",
		}
	case p.Node != "" && unseen(v) && known.LacksNode(p.Node):
		return nodeMissing(v)
	}
	return Reason{}
}

// unseen reports whether no kubelet has seen the Pod: no container has a state.
func unseen(v *history.Version) bool {
	stated := func(c *observation.Container) bool { return c.State != nil }
	return !slices.ContainsFunc(v.Pod.Init, stated) && !slices.ContainsFunc(v.Pod.Containers, stated)
}

// nodeMissing is the reason of a Pod on a Node that does not exist.
func nodeMissing(v *history.Version) Reason {
	r := Reason{
		Category: NodeMissing, For: "node " + v.Pod.Node, Since: v.Created,
		Text: "is assigned to node " + v.Pod.Node + ", which does not exist",
	}
	if !unseen(v) {
		r.Text, r.Since = "was on node "+v.Pod.Node+", which does not exist any more", time.Time{}
	}
	return r
}
