// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// field is a field with a value that may be shown.
func field(path, value string) func(*observation.State) {
	return func(s *observation.State) {
		s.Leaves = append(s.Leaves, observation.Leaf{Path: path, Value: 1, Shown: value})
	}
}

// slice is an EndpointSlice with those ready endpoints.
func slice(ready string, edits ...func(*observation.State)) *history.Version {
	return version(kind.EndpointSlice.Kind, append(edits, func(s *observation.State) {
		s.Endpoints = &observation.Endpoints{Service: "web", Ready: ready}
	})...)
}

var argoApplication = object.Kind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"}

// counts are the replica counts of a workload.
func counts(replicas, available int32) func(*observation.State) {
	return func(s *observation.State) {
		s.Workload = &observation.Workload{Replicas: replicas, Total: replicas, Available: available}
	}
}

// TestStanding: an object in its desired state that does not work.
func TestStanding(t *testing.T) {
	selects := field("spec.selector.app", "web")
	pods := field("endpoints", "")
	for name, tc := range map[string]struct {
		version *history.Version
		owned   []*history.Version
		events  []*history.Event
		want    Category
		text    string
		next    string
	}{
		"Selector without Pods": {
			version(kind.Service.Kind, selects), []*history.Version{slice("")}, nil,
			NoEndpoints, "has no endpoint: no Pod has the label app=web", "kubectl -n shop get pod --show-labels",
		},
		"Pods that are not ready": {
			version(kind.Service.Kind, selects, field("spec.selector[a.b/c]", "d")),
			[]*history.Version{slice("", pods), slice("")}, nil, EndpointsUnready,
			"has no ready endpoint: none of the Pods with the labels app=web, a.b/c=d is ready",
			"kubectl -n shop get endpointslice -l kubernetes.io/service-name=web -o yaml",
		},
		"A ready Pod": {
			version(kind.Service.Kind, selects), []*history.Version{slice("", pods), slice("AAAAAAAA", pods)}, nil,
			"", "", "",
		},
		"Endpoints that were not read": {version(kind.Service.Kind, selects), nil, nil, "", "", ""},
		"No selector":                  {version(kind.Service.Kind), []*history.Version{slice("")}, nil, "", "", ""},
		"Suspended": {
			version(kind.CronJob.Kind, field("spec.suspend", "true")), nil, nil, Suspended, "is suspended",
			"kubectl -n shop describe cronjob/web",
		},
		"Not suspended": {version(kind.CronJob.Kind, field("spec.suspend", "false")), nil, nil, "", "", ""},
		"Suspended Job": {
			version(kind.Job.Kind, field("spec.suspend", "true")), nil, nil, Suspended, "is suspended",
			"kubectl -n shop describe job/web",
		},
		"Missed start": {
			version(kind.CronJob.Kind), nil, event("MissSchedule", "", "Missed scheduled time to start a job: 1"),
			StartMissed, "has missed a start: Missed scheduled time to start a job: 1",
			"kubectl -n shop describe cronjob/web",
		},
		"Last Job": {
			version(kind.CronJob.Kind), nil, event("JobAlreadyActive", "", "Not starting job"), StartForbidden,
			"does not start a Job: the last one still runs, and its policy forbids another one",
			"kubectl -n shop get job",
		},
		"Refused Job": {
			version(kind.CronJob.Kind), nil, event("FailedCreate", "",
				`Error creating job: jobs.batch "a" is forbidden: exceeded quota: few`),
			QuotaExceeded, "cannot create its Jobs: exceeded quota: few", "kubectl -n shop describe resourcequota",
		},
		"Started": {version(kind.CronJob.Kind), nil, event("SuccessfulCreate", "", "Created job a"), "", "", ""},
		"No target": {
			version(kind.HorizontalPodAutoscaler.Kind,
				condition("AbleToScale", "False", "FailedGetScale", "not found")), nil,
			nil, ScaleTarget, "cannot scale: not found", "kubectl -n shop describe horizontalpodautoscaler/web",
		},
		"No metric": {
			version(kind.HorizontalPodAutoscaler.Kind,
				condition("ScalingActive", "False", "FailedGetResourceMetric", "no metrics returned")), nil, nil,
			ScaleMetric, "cannot read a metric: no metrics returned",
			"kubectl -n shop describe horizontalpodautoscaler/web",
		},
		"No replicas": {
			version(kind.HorizontalPodAutoscaler.Kind, condition("ScalingActive", "False", "ScalingDisabled", "")),
			nil, nil, "", "", "",
		},
		"Budget": {
			version(kind.PodDisruptionBudget.Kind, condition("DisruptionAllowed", "False", "InsufficientPods", "")),
			nil, nil,
			DisruptionBudget, "allows no eviction: too few of its Pods are healthy",
			"kubectl -n shop describe poddisruptionbudget/web",
		},
		"No node": {
			version(kind.DaemonSet.Kind, counts(0, 0)), nil, nil, DaemonSetNodes,
			"runs on no node: none fits its node selector, affinity and tolerations", "kubectl describe node",
		},
		"Daemons": {version(kind.DaemonSet.Kind, counts(2, 2)), nil, nil, "", "", ""},
		"At its maximum": {
			version(kind.HorizontalPodAutoscaler.Kind, field("spec.maxReplicas", "3"),
				condition("ScalingLimited", "True", "TooManyReplicas", "")), nil, nil, ScaleLimited,
			"has reached its maximum of 3 replicas", "kubectl -n shop describe horizontalpodautoscaler/web",
		},
		"At its minimum": {
			version(kind.HorizontalPodAutoscaler.Kind, condition("ScalingLimited", "True", "TooFewReplicas", "")),
			nil, nil,
			"", "", "",
		},
		"Released": {
			version(kind.PersistentVolume.Kind, progressing(observation.Released)), nil, nil, VolumeReleased,
			"is released: its claim does not exist any more", "kubectl -n shop describe persistentvolume/web",
		},
		"Not deleted": {
			version(kind.PersistentVolume.Kind, progressing(observation.Released)), nil,
			event("VolumeFailedDelete", "", "error deleting: disk in use"), VolumeFailed,
			"cannot be deleted: disk in use",
			"kubectl -n shop describe persistentvolume/web",
		},
		"Not resized": {
			version(kind.PersistentVolumeClaim.Kind), nil, event("VolumeResizeFailed", "", "resize: no space left"),
			VolumeResize, "cannot be resized: no space left", "kubectl -n shop describe persistentvolumeclaim/web",
		},
		"Resize without a Pod": {
			version(kind.PersistentVolumeClaim.Kind, condition("FileSystemResizePending", "True", "", "")), nil, nil,
			VolumeResize, "waits for the resize of its file system on a node",
			"kubectl -n shop describe persistentvolumeclaim/web",
		},
		"Resized": {
			version(kind.PersistentVolumeClaim.Kind), nil, event("VolumeResizeSuccessful", "", ""), "", "", "",
		},
		"Degraded": {
			version(argoApplication, condition("Synced", "False", "OutOfSync", ""),
				condition("Healthy", "False", "Degraded", "no replicas")), nil, nil, ArgoCD, "is degraded: no replicas",
			"kubectl -n shop describe application.argoproj.io/web",
		},
		"Out of sync": {
			version(argoApplication, condition("Synced", "False", "OutOfSync", ""),
				condition("Healthy", "True", "Healthy", "")),
			nil, nil, ArgoCD, "is out of sync with its source", "kubectl -n shop describe application.argoproj.io/web",
		},
		"Not compared": {
			version(argoApplication, condition("ComparisonError", "True", "", "no such path")), nil, nil, ArgoCD,
			"reports ComparisonError: no such path", "kubectl -n shop describe application.argoproj.io/web",
		},
		"Evicted": {
			version(kind.Pod.Kind, pod(observation.Container{}), func(s *observation.State) {
				s.Pod.Phase = "Succeeded"
			}),
			nil, event("Evicted", "", "The node was low on resource: memory."), Evicted,
			"was evicted: The node was low on resource: memory", "kubectl -n shop describe pod/web",
		},
		"Completed": {
			version(kind.Pod.Kind, pod(observation.Container{}), func(s *observation.State) {
				s.Pod.Phase = "Succeeded"
			}),
			nil, nil, "", "", "",
		},
		"On its way": {version(argoApplication, condition("Healthy", "False", "Progressing", "")), nil, nil, "", "",
			""},
		"In deletion": {
			version(kind.CronJob.Kind, field("spec.suspend", "true"),
				func(s *observation.State) { s.Deleting = epoch }),
			nil, nil, "", "", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := Standing(tc.version, tc.owned, tc.events)
			if r.Category != tc.want || r.Text != tc.text {
				t.Errorf("got %q: %q, want %q: %q", r.Category, r.Text, tc.want, tc.text)
			}
			if got := r.Next(*tc.version.Ref); tc.text != "" && got != tc.next {
				t.Errorf("next: got %q, want %q", got, tc.next)
			}
		})
	}
}

// TestBehind: a StatefulSet waits for its first broken Pod, and a DaemonSet misses a node.
func TestBehind(t *testing.T) {
	owned := func(name string, c observation.Container) Owned {
		v := version(kind.Pod.Kind, pod(c), func(s *observation.State) { s.Name = name })
		return Owned{Version: v, Reason: Of(v, nil)}
	}
	missing := waitingFor("ImagePullBackOff", `Back-off pulling image "web:1": ErrImagePull: web:1: not found`)
	starting := waitingFor("ContainerCreating", "")
	const pulls = "cannot pull image web:1 of container app: not found"
	for name, tc := range map[string]struct {
		version *history.Version
		owned   []Owned
		want    Category
		cause   Category
		text    string
		next    string
	}{
		"The lowest ordinal": {
			version(kind.StatefulSet.Kind, counts(12, 10), field("spec.podManagementPolicy", "OrderedReady")),
			[]Owned{owned("web-10", missing), owned("web-9", missing)}, Ordinal, ImageNotFound,
			"waits for Pod web-9, which " + pulls, "kubectl -n shop describe pod/web-9",
		},
		"A Pod that the controller may replace": {
			version(kind.StatefulSet.Kind, counts(1, 0), field("spec.podManagementPolicy", "Parallel")),
			[]Owned{owned("web-0", missing)}, Ordinal,
			"", "waits for Pod web-0, which " + pulls, "kubectl -n shop describe pod/web-0",
		},
		"A node": {
			version(kind.DaemonSet.Kind, counts(3, 2)), []Owned{owned("web-a", starting), owned("web-b", missing)},
			DaemonSetNodes, "",
			"misses 1 of 3 nodes: Pod web-b on node n " + pulls, "kubectl -n shop describe pod/web-b",
		},
		"A start":    {version(kind.StatefulSet.Kind, counts(1, 0)), []Owned{owned("web-0", starting)}, "", "", "", ""},
		"Deployment": {version(kind.Deployment.Kind, counts(1, 0)), []Owned{owned("web-0", missing)}, "", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := Behind(tc.version, tc.owned)
			if r.Category != tc.want || r.Text != tc.text || r.Cause != tc.cause {
				t.Errorf("got %q by %q: %q, want %q by %q: %q", r.Category, r.Cause, r.Text, tc.want, tc.cause, tc.text)
			}
			if got := r.Next(*tc.version.Ref); tc.text != "" && got != tc.next {
				t.Errorf("next: got %q, want %q", got, tc.next)
			}
		})
	}
}

// TestKilledByProbe: a probe that stops a container is the reason of its crash loop.
func TestKilledByProbe(t *testing.T) {
	const app = "spec.containers{app}"
	looping := waitingFor("CrashLoopBackOff", "")
	looping.Restarts, looping.Last = 2, &observation.ContainerState{
		Reason:   "Completed",
		Started:  epoch,
		Finished: epoch,
	}
	v := version(kind.Pod.Kind, pod(looping))
	events := append(
		event("Unhealthy", app, "Liveness probe failed: HTTP probe failed with statuscode: 500"),
		event("Killing", app, "Container app failed liveness probe, will be restarted")...,
	)
	const want = "is in a crash loop: the liveness probe stops container app, restarted twice: " +
		"Liveness probe failed: HTTP probe failed with statuscode: 500"
	if r := Of(v, events); r.Category != LivenessProbe || r.Text != want {
		t.Errorf("got %q: %q", r.Category, r.Text)
	}
	for _, e := range events {
		e.Stamp = epoch.Add(-1)
	}
	if r := Of(v, events); r.Category != CrashLoop {
		t.Errorf("got %q: %q from Events about an earlier run", r.Category, r.Text)
	}
}

// TestPreempted: the Pod is in deletion, and its condition names the scheduler.
func TestPreempted(t *testing.T) {
	v := version(kind.Pod.Kind, pod(observation.Container{}), func(s *observation.State) { s.Deleting = epoch },
		condition("DisruptionTarget", "True", "PreemptionByScheduler", "preempting"))
	r := Of(v, event("Preempted", "", "Preempted by pod a on node n"))
	if r.Category != Preempted || r.Text != "is preempted by pod a on node n" {
		t.Errorf("got %q: %q", r.Category, r.Text)
	}
}

// TestOnNode: a Pod waits for its Node unless that is ready or the Pod has failed.
func TestOnNode(t *testing.T) {
	lost := version(
		kind.Node.Kind,
		condition("Ready", "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status."),
	)
	unready := version(kind.Node.Kind, condition("Ready", "False", "KubeletNotReady", "no network"))
	waiting := version(kind.Pod.Kind, pod(waitingFor("ContainerCreating", "")), func(s *observation.State) {
		s.Created = epoch
	})
	for name, tc := range map[string]struct {
		pod, node *history.Version
		want      Category
		text      string
	}{
		"Lost":    {waiting, lost, NodeLost, "is on node web, whose kubelet does not answer"},
		"Unready": {waiting, unready, NodeNotReady, "is on node web, which is not ready: no network"},
		"Terminating": {
			version(kind.Pod.Kind, pod(observation.Container{}), func(s *observation.State) { s.Deleting = epoch }),
			lost,
			NodeLost, "is terminating on node web, whose kubelet does not answer",
		},
		"Ready": {waiting, version(kind.Node.Kind, condition("Ready", "True", "", "")), "", ""},
		"New":   {waiting, version(kind.Node.Kind), "", ""},
		"Failed": {
			version(kind.Pod.Kind, pod(observation.Container{}),
				func(s *observation.State) { s.Pod.Phase = "Failed" }), lost,
			"", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := OnNode(tc.pod, tc.node)
			if r.Category != tc.want || r.Text != tc.text {
				t.Errorf("got %q: %q, want %q: %q", r.Category, r.Text, tc.want, tc.text)
			}
			if r.Text != "" && (r.At.Name != tc.node.Name || r.Since.Before(tc.pod.Created)) {
				t.Errorf("got %+v, want the Node, not before the Pod", r)
			}
		})
	}
}

// TestUnresolved: an Ingress that names an object that does not exist.
func TestUnresolved(t *testing.T) {
	ingress := &observation.State{
		Leaves: []observation.Leaf{{Path: "spec.ingressClassName", Value: 1, Shown: "nginx"}},
		Relations: []object.Relation{
			{Type: object.Backend, To: object.Name{Kind: "Service", Namespace: "shop", Name: "web"}},
		},
	}
	ingress.Kind, ingress.Group = kind.Ingress.Kind, kind.Ingress.Group
	without := func(name string) func(object.Name) bool {
		return func(n object.Name) bool { return n.Name == name }
	}
	for missing, want := range map[string]string{
		"web":   "names Service web, which does not exist",
		"nginx": "names IngressClass nginx, which does not exist",
		"other": "",
	} {
		if r := Unresolved(ingress, without(missing)); r.Text != want {
			t.Errorf("without %s: got %q, want %q", missing, r.Text, want)
		}
	}
	if r := Unresolved(nil, without("web")); r.Text != "" {
		t.Errorf("got %q for no object", r.Text)
	}
}
