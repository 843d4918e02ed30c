// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"slices"
	"strings"
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

// servicePort is a port of a Service.
func servicePort(name, target string) func(*observation.State) {
	return func(s *observation.State) {
		of := "spec.ports[name=" + name + "]."
		for path, value := range map[string]string{"name": name, "targetPort": target} {
			field(of+path, value)(s)
		}
		slices.SortFunc(s.Leaves, func(a, b observation.Leaf) int { return strings.Compare(a.Path, b.Path) })
	}
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
		"A port that no Pod has": {
			version(kind.Service.Kind, selects, servicePort("web", "http"), servicePort("own", "8080")),
			[]*history.Version{slice("AAAAAAAA", pods)}, nil, PortMissing,
			"reaches no Pod at port web: none of the ready Pods has a port with the name http",
			"kubectl -n shop get endpointslice -l kubernetes.io/service-name=web -o yaml",
		},
		"A port that one Pod has": {
			version(kind.Service.Kind, selects, servicePort("web", "http")),
			[]*history.Version{
				slice("AAAAAAAA", pods), slice("BBBBBBBB", pods, field("ports[name=web].port", "80")),
			}, nil, "", "", "",
		},
		"An unnamed port": {
			version(kind.Service.Kind, selects, field("spec.ports[port=80,protocol=TCP].targetPort", "http")),
			[]*history.Version{slice("AAAAAAAA", pods, field("ports[port=80,protocol=TCP].port", "80"))},
			nil, "", "", "",
		},
		"External IPs": {
			version(kind.Service.Kind, progressing(observation.Unaddressed)), nil, nil, NoAddress,
			"has no load balancer, and is reachable at its external IPs", "kubectl -n shop describe service/web",
		},
		"No address": {
			version(kind.Ingress.Kind, progressing(observation.Unaddressed)), nil, nil, NoAddress,
			"has no address: no Ingress of its class has one", "kubectl -n shop describe ingress/web",
		},
		"OnDelete": {
			version(kind.StatefulSet.Kind, counts(3, 3), field("spec.updateStrategy.type", "OnDelete")),
			nil, nil, OnDelete,
			"keeps 3 of 3 Pods at the former revision: its update strategy OnDelete replaces a Pod only after its " +
				"deletion",
			"kubectl -n shop describe statefulset/web",
		},
		"Paused": {
			version(kind.Deployment.Kind, counts(3, 3), func(s *observation.State) {
				s.Workload.Paused, s.Workload.Updated = true, 1
			}), nil, nil, Paused, "is paused, and keeps 2 of 3 Pods at the former revision",
			"kubectl -n shop describe deployment/web",
		},
		"Paused before its first Pod": {
			version(kind.Deployment.Kind, counts(3, 0), func(s *observation.State) {
				s.Workload.Paused, s.Workload.Total = true, 0
			}), nil, nil, Paused, "is paused", "kubectl -n shop describe deployment/web",
		},
		"Partition": {
			version(kind.StatefulSet.Kind, counts(3, 3), field("spec.updateStrategy.rollingUpdate.partition", "2"),
				field("spec.updateStrategy.type", "RollingUpdate"),
				func(s *observation.State) { s.Workload.Updated = 1 }),
			nil, nil, Partition, "keeps 2 of 3 Pods at the former revision: its partition is 2",
			"kubectl -n shop describe statefulset/web",
		},
		"No partition": {
			version(kind.StatefulSet.Kind, counts(3, 3), field("spec.updateStrategy.rollingUpdate.partition", "0"),
				field("spec.updateStrategy.type", "RollingUpdate")), nil, nil, "", "", "",
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
			version(kind.HorizontalPodAutoscaler.Kind, condition("ScalingActive", "False", "ScalingDisabled", ""),
				refers(object.Target, &kind.Deployment, "shop")),
			nil, nil, ScaleOff, "is off: Deployment shop is scaled to 0",
			"kubectl -n shop describe horizontalpodautoscaler/web",
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

// beside are the objects beside another one, without the object of one name.
type beside struct {
	missing string
	objects []*observation.State
}

func (b beside) Lacks(n object.Name) bool { return n.Name == b.missing }

func (b beside) Of(k *kind.Kind) []*observation.State {
	return slices.DeleteFunc(slices.Clone(b.objects), func(s *observation.State) bool { return !k.Is(s.Kind) })
}

// state is an object of a kind in namespace shop.
func state(k *kind.Kind, name string, edits ...func(*observation.State)) *observation.State {
	s := &observation.State{}
	s.Kind, s.Group, s.Namespace, s.Name = k.Kind, k.Group, "shop", name
	for _, edit := range edits {
		edit(s)
	}
	return s
}

// refers adds a relation to an object of namespace shop.
func refers(typ object.RelationType, k *kind.Kind, name string) func(*observation.State) {
	return func(s *observation.State) {
		to := object.Name{Group: k.Group, Kind: k.Kind.Kind, Namespace: "shop", Name: name}
		s.Relations = append(s.Relations, object.Relation{Type: typ, To: to})
	}
}

// TestUnresolved: an Ingress that names an object or a port that does not exist.
func TestUnresolved(t *testing.T) {
	to := func(port string) *observation.State {
		return state(&kind.Ingress, "web", field("spec.ingressClassName", "nginx"),
			refers(object.Backend, &kind.Service, "web"), refers(object.Port, &kind.Service, "web:"+port))
	}
	named := state(&kind.Service, "web", field("spec.ports[name=http].name", "http"),
		field("spec.ports[name=http].port", "80"), field("spec.ports[name=http].targetPort", "8080"))
	unnamed := state(&kind.Service, "web", field("spec.ports[port=25,protocol=TCP].port", "25"))
	for name, tc := range map[string]struct {
		ingress *observation.State
		beside  beside
		want    Category
		text    string
		next    string
	}{
		"No Service": {
			to("80"), beside{missing: "web"}, ReferenceMissing, "names Service web, which does not exist",
			"kubectl -n shop describe ingress/web",
		},
		"No class": {
			to("80"), beside{missing: "nginx"}, ReferenceMissing, "names IngressClass nginx, which does not exist",
			"kubectl -n shop describe ingress/web",
		},
		"The port of the Pods": {
			to("8080"), beside{objects: []*observation.State{named}}, PortMissing,
			"names port 8080 of Service web, which has only port 80 (http)", "kubectl -n shop describe service/web",
		},
		"A name":        {to("http"), beside{objects: []*observation.State{named}}, "", "", ""},
		"A number":      {to("80"), beside{objects: []*observation.State{named}}, "", "", ""},
		"An unread one": {to("8080"), beside{}, "", "", ""},
		"Another number": {
			to("26"), beside{objects: []*observation.State{unnamed}}, PortMissing,
			"names port 26 of Service web, which has only port 25", "kubectl -n shop describe service/web",
		},
		"No object":      {nil, beside{missing: "web"}, "", "", ""},
		"Another object": {named, beside{missing: "web"}, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := Unresolved(tc.ingress, tc.beside)
			if r.Category != tc.want || r.Text != tc.text {
				t.Errorf("got %q: %q, want %q: %q", r.Category, r.Text, tc.want, tc.text)
			}
			if tc.next != "" && r.Next(tc.ingress.Ref) != tc.next {
				t.Errorf("next: got %q, want %q", r.Next(tc.ingress.Ref), tc.next)
			}
		})
	}
}

// TestBlamed: the workloads whose Pods a Service selects, and the fields that made its state.
func TestBlamed(t *testing.T) {
	service := state(&kind.Service, "mail", field("spec.selector.app", "mail"))
	workload := func(k *kind.Kind, name string, replicas int32, edits ...func(*observation.State)) *observation.State {
		return state(k, name, append(edits, counts(replicas, 0),
			field("spec.template.metadata.labels.app", "mail"), field("spec.template.metadata.labels.x", "y"))...)
	}
	other := state(&kind.Deployment, "other", counts(0, 0), field("spec.template.metadata.labels.x", "y"))
	owned := workload(&kind.ReplicaSet, "mail-1", 0, func(s *observation.State) {
		s.Owners = []object.Owner{{Kind: kind.Deployment.Kind, Name: "mail", Controller: true}}
	})
	none := Reason{Category: NoEndpoints, Text: "has no endpoint: no Pod has the label app=mail"}
	for name, tc := range map[string]struct {
		service *observation.State
		reason  Reason
		beside  []*observation.State
		text    string
		fields  []string
	}{
		"Scaled to 0": {
			service, none, []*observation.State{workload(&kind.Deployment, "mail", 0), other, owned},
			"has no endpoint: Deployment mail is scaled to 0", []string{"mail spec.replicas", " spec.selector"},
		},
		"Two": {
			service, none,
			[]*observation.State{workload(&kind.Deployment, "a", 0), workload(&kind.StatefulSet, "b", 0)},
			"has no endpoint: Deployment a, StatefulSet b are scaled to 0",
			[]string{"a spec.replicas", "b spec.replicas", " spec.selector"},
		},
		"One is not": {
			service, none,
			[]*observation.State{workload(&kind.Deployment, "a", 0), workload(&kind.Deployment, "b", 1)},
			none.Text, nil,
		},
		"None": {service, none, []*observation.State{other}, none.Text, nil},
		"A port": {
			service, Reason{Category: PortMissing, Text: "t"},
			[]*observation.State{workload(&kind.Deployment, "mail", 2)}, "t",
			[]string{"mail spec.template.spec.containers.ports"},
		},
		"Another kind": {other, none, []*observation.State{workload(&kind.Deployment, "mail", 0)}, none.Text, nil},
		"No object":    {nil, none, nil, none.Text, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := Blamed(tc.reason, tc.service, beside{objects: tc.beside})
			var fields []string
			for _, f := range r.Fields {
				fields = append(fields, f.Of.Name+" "+f.Path)
			}
			if r.Text != tc.text || !slices.Equal(fields, tc.fields) {
				t.Errorf("got %q by %q, want %q by %q", r.Text, fields, tc.text, tc.fields)
			}
		})
	}
}
