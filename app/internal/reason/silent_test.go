// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// scheduledBy is a Pod without a node for that scheduler.
func scheduledBy(name string) func(*observation.State) {
	return func(s *observation.State) { s.Pod = &observation.Pod{Scheduler: name, Phase: "Pending"} }
}

// cluster lacks Node n, and has the scheduler busy.
type cluster struct{}

func (cluster) LacksNode(name string) bool    { return name == "n" }
func (cluster) HasScheduler(name string) bool { return name == "busy" }

// TestSilent: no component has reacted to the object.
func TestSilent(t *testing.T) {
	const multi = "kueue.x-k8s.io/multikueue"
	active := func(n int32) func(*observation.State) {
		return func(s *observation.State) { s.Workload = &observation.Workload{Replicas: 1, Total: n} }
	}
	for name, tc := range map[string]struct {
		version *history.Version
		want    Category
		text    string
		next    string
	}{
		"Unknown scheduler": {
			version(kind.Pod.Kind, scheduledBy("crane-scheduler")), SchedulerMissing,
			"waits for scheduler crane-scheduler, which does not react: no scheduler of that name seems to run",
			"kubectl -n shop describe pod/web",
		},
		"No scheduler": {
			version(kind.Pod.Kind, unbound), SchedulerMissing,
			"waits for scheduler default-scheduler, which does not react: no scheduler of that name seems to run",
			"kubectl -n shop describe pod/web",
		},
		"Busy scheduler": {version(kind.Pod.Kind, scheduledBy("busy")), "", "", ""},
		"Looked at": {
			version(kind.Pod.Kind, scheduledBy("a"), condition("PodScheduled", "False", "Unschedulable", "")),
			"", "", "",
		},
		"Gated": {
			version(kind.Pod.Kind, func(s *observation.State) {
				s.Pod = &observation.Pod{SchedulingGates: []string{"example.com/a"}}
			}), "", "", "",
		},
		"In deletion": {
			version(kind.Pod.Kind, unbound, func(s *observation.State) { s.Deleting = epoch }), "", "", "",
		},
		"Missing node": {
			version(kind.Pod.Kind, pod(observation.Container{})), NodeMissing,
			"is assigned to node n, which does not exist", "kubectl get node",
		},
		"Known node": {
			version(kind.Pod.Kind, pod(observation.Container{}), func(s *observation.State) { s.Pod.Node = "m" }),
			"", "", "",
		},
		"Started": {version(kind.Pod.Kind, pod(waitingFor("ContainerCreating", ""))), "", "", ""},
		"Manager": {
			version(kind.Job.Kind, active(0), field("spec.managedBy", multi)), JobManager,
			"waits for " + multi + ", which manages it and has not begun; the built-in controller ignores it",
			"kubectl -n shop describe job/web",
		},
		"Manager at work": {version(kind.Job.Kind, active(1), field("spec.managedBy", multi)), "", "", ""},
		"Built-in manager": {
			version(kind.Job.Kind, active(0), field("spec.managedBy", "kubernetes.io/job-controller")), "", "", "",
		},
		"Job": {version(kind.Job.Kind, active(0)), "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := Silent(tc.version, cluster{})
			if r.Category != tc.want || r.Text != tc.text {
				t.Errorf("got %q: %q, want %q: %q", r.Category, r.Text, tc.want, tc.text)
			}
			if tc.next != "" && r.Next(*tc.version.Ref) != tc.next {
				t.Errorf("next: got %q, want %q", r.Next(*tc.version.Ref), tc.next)
			}
		})
	}
}

// TestCollected: the garbage collector of Pods removes one without a node.
func TestCollected(t *testing.T) {
	gone := condition("DisruptionTarget", "True", "DeletionByPodGC", "PodGC: node no longer exists")
	failed := func(s *observation.State) { s.Pod.Phase = "Failed" }
	for want, state := range map[string]observation.Container{
		"is assigned to node n, which does not exist":  {},
		"was on node n, which does not exist any more": exited("Error", 1, 0),
	} {
		r := Of(version(kind.Pod.Kind, pod(state), gone, failed), nil)
		if r.Category != NodeMissing || r.Text != want {
			t.Errorf("got %q: %q, want %q", r.Category, r.Text, want)
		}
	}
}

// TestDeadlocked: the Pods of the former revision keep a Pod from the nodes until it is ready.
func TestDeadlocked(t *testing.T) {
	const message = "0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules. preemption: none"
	const text = "cannot be scheduled: 0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules"
	const deadlock = text + "; the rollout of Deployment web cannot continue: its former Pods hold these nodes, and " +
		"maxUnavailable 25% of 3 replicas is 0"
	unavailable := func(value string) *history.Version {
		return version(kind.Deployment.Kind, counts(3, 3), field("spec.strategy.rollingUpdate.maxUnavailable", value))
	}
	for name, tc := range map[string]struct {
		deployment *history.Version
		message    string
		held       int
		want       string
	}{
		"Rounded down":     {unavailable("25%"), message, 3, deadlock},
		"One Pod":          {unavailable("1"), message, 3, text},
		"A larger share":   {unavailable("34%"), message, 3, text},
		"Pods of others":   {unavailable("25%"), message, 2, text},
		"Another reason":   {unavailable("25%"), "0/3 nodes are available: 3 Insufficient cpu.", 3, text},
		"Unknown strategy": {version(kind.Deployment.Kind, counts(3, 3)), message, 3, text},
	} {
		t.Run(name, func(t *testing.T) {
			p := version(kind.Pod.Kind, unbound, condition("PodScheduled", "False", "Unschedulable", tc.message))
			own := Reason{Category: UnschedulableAffinity, Text: text}
			if r := Deadlocked(own, p, tc.deployment, tc.held); r.Text != tc.want {
				t.Errorf("got %q, want %q", r.Text, tc.want)
			}
		})
	}
}
