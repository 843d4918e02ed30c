// SPDX-License-Identifier: Apache-2.0

package ending

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
)

// inLoop is a Pod in a crash loop. Its versions arrive at rv and rv+1.
func (w *world) inLoop(name string, rv uint64, edits ...edit) *change.Timeline {
	w.put(&kind.Pod, name, rv, append([]edit{pod}, edits...)...)
	return w.put(&kind.Pod, name, rv+1, container(1, backOff, exited(float64(rv))))
}

const crashLoop = "is in a crash loop: container app exited with code 1, restarted once"

// TestReasons: an object may wait for another one, and has its reason.
func TestReasons(t *testing.T) {
	set := func(w *world) *change.Timeline {
		return w.put(&kind.StatefulSet, "db", 5, replicas(2), observing)
	}
	job := func(w *world) *change.Timeline { return w.put(&kind.Job, "load", 5) }
	unscheduled := func(message string) edit {
		return func(s *observation.State) {
			s.Pod.Node = ""
			condition("PodScheduled", "False", "Unschedulable", message)(s)
		}
	}
	claims := func(names ...string) edit {
		return func(s *observation.State) {
			for _, name := range names {
				s.Relations = append(s.Relations, object.Relation{
					Type: object.Claim,
					To:   object.Name{Kind: "PersistentVolumeClaim", Namespace: "default", Name: name},
				})
			}
		}
	}
	unbound := func(w *world) *change.Timeline {
		return w.put(&kind.Pod, "db-0", 11, pod, claims("data"),
			unscheduled("0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims."))
	}
	onNode := func(ready string) func(w *world) {
		return func(w *world) {
			w.put(&kind.Node, "node-1", 8, condition("Ready", ready, "KubeletNotReady", "no network"))
		}
	}
	cases := map[string]struct {
		reason   string
		now      float64
		set      func(w *world) *change.Timeline
		category reason.Category
		text     string
	}{
		"no version": {"nothing is known of the object", 20,
			func(*world) *change.Timeline { return &change.Timeline{} }, "", ""},
		"own": {"the object has its own reason", 20,
			func(w *world) *change.Timeline { return w.inLoop("web-a", 10) }, reason.CrashLoop, crashLoop},

		"Pod of a set": {"the first broken Pod stops the set", 20, func(w *world) *change.Timeline {
			w.inLoop("db-1", 10, owned(&kind.StatefulSet, "db"))
			w.inLoop("db-0", 12, owned(&kind.StatefulSet, "db"))
			return set(w)
		}, reason.Ordinal, "waits for Pod db-0, which " + crashLoop},
		"ready Pod": {"its convergence has yet to last", 20, func(w *world) *change.Timeline {
			return w.put(&kind.Pod, "web-a", 10, pod, ready)
		}, "", "is ready, and must stay so for 10s"},
		"complete Deployment": {"the crash of a Pod would show that it is not", 20, func(w *world) *change.Timeline {
			return w.put(&kind.Deployment, "web", 5, replicas(1), current)
		}, "", "is complete; its Pods must stay ready for 10s"},
		"ready Pod of a set": {"the Pod is ready", 20, func(w *world) *change.Timeline {
			w.put(&kind.Pod, "db-0", 10, pod, ready, owned(&kind.StatefulSet, "db"))
			return set(w)
		}, "", "has 0 of 2 replicas available"},
		"removed Pod of a set": {"the Pod is gone", 20, func(w *world) *change.Timeline {
			w.gone(w.inLoop("db-0", 10, owned(&kind.StatefulSet, "db")), 14)
			return set(w)
		}, "", "has 0 of 2 replicas available"},
		"ready Pod on a lost Node": {"the Pod is ready", 20, func(w *world) *change.Timeline {
			onNode("Unknown")(w)
			w.put(&kind.Pod, "db-0", 10, pod, ready, owned(&kind.StatefulSet, "db"))
			return set(w)
		}, "", "has 0 of 2 replicas available"},
		"other dependant": {"only Pods count", 20, func(w *world) *change.Timeline {
			w.put(&kind.PersistentVolumeClaim, "db-0", 10, owned(&kind.StatefulSet, "db"))
			return set(w)
		}, "", "has 0 of 2 replicas available"},
		"refused Pod of a set": {"the set has its own reason", 20, func(w *world) *change.Timeline {
			w.inLoop("db-0", 10, owned(&kind.StatefulSet, "db"))
			db := set(w)
			w.event(db, 30, "FailedCreate", "exceeded quota: small, requested: pods=1")
			return db
		}, reason.QuotaExceeded, "cannot create its Pods: exceeded quota: small, requested: pods=1"},
		"set in deletion": {"the Pods do not stop a deletion", 20, func(w *world) *change.Timeline {
			w.inLoop("db-0", 10, owned(&kind.StatefulSet, "db"))
			set(w)
			return w.put(&kind.StatefulSet, "db", 15, leaving)
		}, "", "is terminating"},
		"ReplicaSet": {"a Pod does not stop the others", 20, func(w *world) *change.Timeline {
			w.inLoop("web-1-a", 10, owned(&kind.ReplicaSet, "web-1"))
			return w.put(&kind.ReplicaSet, "web-1", 5, replicas(2), observing)
		}, "", "has 0 of 2 replicas available"},

		"attempt of a Job": {"the last attempt failed", 20, func(w *world) *change.Timeline {
			w.put(&kind.Pod, "load-a", 10, pod, owned(&kind.Job, "load"))
			w.put(&kind.Pod, "load-b", 12, pod, phase("Failed"), container(0, exited(12), nil),
				owned(&kind.Job, "load"))
			return job(w)
		}, reason.JobRetry, "tries again after Pod load-b failed: container app exited with code 1"},
		"dependant of a Job": {"only Pods are attempts", 20, func(w *world) *change.Timeline {
			w.put(&kind.Pod, "load-b", 10, pod, phase("Failed"), container(0, exited(10), nil),
				owned(&kind.Job, "load"))
			w.put(&kind.ConfigMap, "load-c", 12, owned(&kind.Job, "load"))
			return job(w)
		}, reason.JobRetry, "tries again after Pod load-b failed: container app exited with code 1"},
		"next attempt": {"the last attempt goes on", 20, func(w *world) *change.Timeline {
			w.put(&kind.Pod, "load-b", 10, pod, phase("Failed"), container(0, exited(10), nil),
				owned(&kind.Job, "load"))
			w.put(&kind.Pod, "load-a", 12, pod, owned(&kind.Job, "load"))
			return job(w)
		}, "", "waits for its controller to report completion"},
		"attempts in a second": {"the name orders Pods of one second", 20, func(w *world) *change.Timeline {
			w.put(&kind.Pod, "load-b", 10, pod, phase("Failed"), container(0, exited(10), nil),
				owned(&kind.Job, "load"))
			w.put(&kind.Pod, "load-a", 11, pod, owned(&kind.Job, "load"),
				func(s *observation.State) { s.Created = at(10) })
			return job(w)
		}, reason.JobRetry, "tries again after Pod load-b failed: container app exited with code 1"},

		"claim": {"the claim has the reason", 20, func(w *world) *change.Timeline {
			claim := w.put(&kind.PersistentVolumeClaim, "data", 10)
			w.event(claim, 100, "FailedBinding",
				"no persistent volumes available for this claim and no storage class is set")
			return unbound(w)
		}, reason.VolumeNotBound, "waits for PersistentVolumeClaim data, which cannot be bound: " +
			"no persistent volumes available for this claim and no storage class is set"},
		"claim without a reason": {"the Pod has its own reason", 20, func(w *world) *change.Timeline {
			w.put(&kind.PersistentVolumeClaim, "data", 10)
			return unbound(w)
		}, reason.VolumeNotBound,
			"cannot be scheduled: 0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims"},
		"second claim": {"the first claim has no reason", 20, func(w *world) *change.Timeline {
			w.put(&kind.PersistentVolumeClaim, "data", 9)
			claim := w.put(&kind.PersistentVolumeClaim, "logs", 10)
			w.event(claim, 100, "FailedBinding", "no volume")
			return w.put(&kind.Pod, "db-0", 11, pod, claims("data", "logs"),
				unscheduled("unbound PersistentVolumeClaims"))
		}, reason.VolumeNotBound, "waits for PersistentVolumeClaim logs, which cannot be bound: no volume"},
		"bound claim": {"the claim is bound", 20, func(w *world) *change.Timeline {
			claim := w.put(&kind.PersistentVolumeClaim, "data", 10, current)
			w.event(claim, 100, "FailedBinding", "no storage class is set")
			return unbound(w)
		}, reason.VolumeNotBound,
			"cannot be scheduled: 0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims"},
		"removed claim": {"the claim is gone", 20, func(w *world) *change.Timeline {
			claim := w.put(&kind.PersistentVolumeClaim, "data", 10)
			w.event(claim, 100, "FailedBinding", "no storage class is set")
			w.gone(claim, 12)
			return unbound(w)
		}, reason.VolumeNotBound,
			"cannot be scheduled: 0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims"},

		"lost Node": {"a lost Node hides other reasons", 20, func(w *world) *change.Timeline {
			onNode("Unknown")(w)
			return w.inLoop("web-a", 10)
		}, reason.NodeLost, "is on node node-1, whose kubelet does not answer"},
		"Node not ready": {"the Pod has no other reason", 20, func(w *world) *change.Timeline {
			onNode("False")(w)
			return w.put(&kind.Pod, "web-a", 10, pod)
		}, reason.NodeNotReady, "is on node node-1, which is not ready: no network"},
		"Node not ready, own": {"the Pod has its own reason", 20, func(w *world) *change.Timeline {
			onNode("False")(w)
			return w.inLoop("web-a", 10)
		}, reason.CrashLoop, crashLoop},
		"other Node": {"another Node is lost", 20, func(w *world) *change.Timeline {
			w.put(&kind.Node, "node-2", 8, condition("Ready", "Unknown", "", ""))
			return w.inLoop("web-a", 10)
		}, reason.CrashLoop, crashLoop},

		"terminating": {"the grace period ends at 41", 51, func(w *world) *change.Timeline {
			w.put(&kind.Pod, "web-a", 10, pod)
			return w.put(&kind.Pod, "web-a", 11, leaving)
		}, "", "is terminating"},
		"overdue": {"the kubelet had a moment more", 51.001, func(w *world) *change.Timeline {
			w.put(&kind.Pod, "web-a", 10, pod)
			return w.put(&kind.Pod, "web-a", 11, leaving)
		}, reason.TerminationOverdue, "is still terminating after its grace period"},
		"finalizer": {"a finalizer is the reason", 60, func(w *world) *change.Timeline {
			w.put(&kind.Pod, "web-a", 10, pod)
			return w.put(&kind.Pod, "web-a", 11, leaving, func(s *observation.State) { s.Finalizers = []string{"a/b"} })
		}, reason.Finalizer, "waits for finalizer a/b"},

		"preempted": {"the scheduler gives the UID of the other Pod", 20, func(w *world) *change.Timeline {
			w.put(&kind.Pod, "big", 9, pod)
			return preempted(w, "big")
		}, reason.Preempted, "is preempted by Pod big on node node-1"},
		"preempted, listed": {"the name is known without the Pod", 20, func(w *world) *change.Timeline {
			w.index.NamePods(map[types.UID]string{"1234": "huge"})
			return preempted(w, "1234")
		}, reason.Preempted, "is preempted by Pod huge on node node-1"},
		"preempted, unknown": {"the name is not known", 20, func(w *world) *change.Timeline {
			return preempted(w, "5678")
		}, reason.Preempted, "is preempted by pod 5678 on node node-1"},

		"scheduler": {"10 s have not passed", 20, func(w *world) *change.Timeline {
			return w.put(&kind.Pod, "web-a", 10, pod, nodeless)
		}, "", "waits for a node"},
		"silent scheduler": {"the scheduler had 10 s", 20.001, func(w *world) *change.Timeline {
			return w.put(&kind.Pod, "web-a", 10, pod, nodeless)
		}, reason.SchedulerMissing,
			"waits for scheduler default-scheduler, which does not react: no scheduler of that name seems to run"},
		"busy scheduler": {"the scheduler has handled another Pod", 30, func(w *world) *change.Timeline {
			w.put(&kind.Pod, "web-b", 9, pod, condition("PodScheduled", "True", "", ""))
			return w.put(&kind.Pod, "web-a", 10, pod, nodeless)
		}, "", "waits for a node"},
		"missing Node": {"another Node is known", 21, func(w *world) *change.Timeline {
			w.put(&kind.Node, "node-2", 8)
			return w.put(&kind.Pod, "web-a", 10, pod)
		}, reason.NodeMissing, "is assigned to node node-1, which does not exist"},
		"no Nodes": {"Nodes are not observed", 21, func(w *world) *change.Timeline {
			return w.put(&kind.Pod, "web-a", 10, pod)
		}, "", "waits for container app to start"},

		"claim in use": {"a Pod on a Node uses the claim", 20, func(w *world) *change.Timeline {
			w.put(&kind.Pod, "db-0", 11, pod, claims("data"))
			w.put(&kind.Pod, "db-1", 12, pod, claims("data"), nodeless)
			w.put(&kind.Pod, "db-2", 13, pod, claims("other"))
			w.gone(w.put(&kind.Pod, "db-3", 14, pod, claims("data")), 15)
			return w.put(&kind.PersistentVolumeClaim, "data", 16, leaving, finalizers("kubernetes.io/pvc-protection"))
		}, reason.InUse, "waits for the end of Pod db-0, which uses it"},
		"claim not in use": {"the controller has not yet looked", 20, func(w *world) *change.Timeline {
			return w.put(&kind.PersistentVolumeClaim, "data", 16, leaving, finalizers("kubernetes.io/pvc-protection"))
		}, reason.Finalizer, "waits for the end of the Pods that use it (finalizer kubernetes.io/pvc-protection)"},
		"dependant": {"a dependant has a finalizer", 20, func(w *world) *change.Timeline {
			w.put(&kind.ConfigMap, "child", 12, owned(&kind.ConfigMap, "web"), leaving, finalizers("example.com/keep"))
			return w.put(&kind.ConfigMap, "web", 13, leaving, finalizers("foregroundDeletion"))
		}, reason.Dependants, "waits for the deletion of ConfigMap child, which waits for finalizer example.com/keep"},

		"deadlock": {"Pods of the former revision are on both Nodes", 20, func(w *world) *change.Timeline {
			w.put(&kind.Deployment, "web", 5, replicas(2), current, func(s *observation.State) {
				field("spec.strategy.rollingUpdate.maxUnavailable", 1)(s)
				for i := range s.Leaves {
					s.Leaves[i].Shown = "25%"
				}
			})
			for _, rs := range []string{"web-1", "web-2"} {
				w.put(&kind.ReplicaSet, rs, 6, owned(&kind.Deployment, "web"))
			}
			for i, name := range []string{"web-1-a", "web-1-b"} {
				w.put(&kind.Pod, name, 7, pod, ready, owned(&kind.ReplicaSet, "web-1"), func(s *observation.State) {
					s.Pod.Node = fmt.Sprint("node-", i)
				})
			}
			return w.put(&kind.Pod, "web-2-a", 8, pod, owned(&kind.ReplicaSet, "web-2"),
				unscheduled("0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules."))
		}, reason.UnschedulableAffinity, "cannot be scheduled: 0/2 nodes are available: 2 node(s) didn't match pod " +
			"anti-affinity rules; the rollout of Deployment web cannot continue: its former Pods hold these nodes, " +
			"and maxUnavailable 25% of 2 replicas is 0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(tc.now)
			got := w.reasons.Of(tc.set(w))
			want := fmt.Sprintf("%s: %s", tc.category, tc.text)
			if diff := cmp.Diff(want, fmt.Sprintf("%s: %s", got.Category, got.Text)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// nodeless takes the node from a Pod.
func nodeless(s *observation.State) { s.Pod.Node = "" }

// finalizers sets the finalizers.
func finalizers(names ...string) edit {
	return func(s *observation.State) { s.Finalizers = names }
}

// preempted returns a Pod in deletion in favour of the Pod with that UID.
func preempted(w *world, by string) *change.Timeline {
	w.put(&kind.Pod, "small", 10, pod)
	t := w.put(&kind.Pod, "small", 11, leaving, condition("DisruptionTarget", "True", "PreemptionByScheduler", "x"))
	w.event(t, 100, "Preempted", "Preempted by pod "+by+" on node node-1")
	return t
}

// TestReasonSince: the reason behind another one has its own begin.
func TestReasonSince(t *testing.T) {
	w := newWorld(20)
	w.inLoop("db-0", 10, owned(&kind.StatefulSet, "db"))
	db := w.put(&kind.StatefulSet, "db", 5, replicas(1), observing)
	if got := w.reasons.Of(db); !got.Since.Equal(at(11)) || got.At.Name != "db-0" {
		t.Errorf("got %s since %s, want db-0 since 11s", got.At.Name, got.Since.Sub(epoch))
	}
}

// TestEventsOf: an Event about a refused dependant ends with the creation of one.
func TestEventsOf(t *testing.T) {
	cases := map[string]struct {
		reason string
		kind   *kind.Kind
		child  uint64 // its creation; 0 means none
		want   []string
	}{
		"refused": {"no dependant was created", &kind.ReplicaSet, 0, []string{"FailedCreate", "ScalingReplicaSet"}},
		"created": {"a dependant was created after", &kind.ReplicaSet, 14, []string{"ScalingReplicaSet"}},
		"before": {"the dependant was there before", &kind.ReplicaSet, 11,
			[]string{"FailedCreate", "ScalingReplicaSet"}},
		"no owner": {"objects of the kind have no dependants", &widget, 14,
			[]string{"FailedCreate", "ScalingReplicaSet"}},
		"same moment": {"the creation is the refused one", &kind.ReplicaSet, 12,
			[]string{"FailedCreate", "ScalingReplicaSet"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(20)
			web := w.put(tc.kind, "web", 10)
			w.event(web, 12, "FailedCreate", "exceeded quota: x,")
			w.event(web, 13, "ScalingReplicaSet", "x")
			if tc.child > 0 {
				w.put(&kind.Pod, "web-a", tc.child, pod, owned(tc.kind, "web"))
			}
			var got []string
			for _, e := range w.reasons.EventsOf(web) {
				got = append(got, e.Reason)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if web.Events[0].Reason != "FailedCreate" || web.Events[1] == nil {
				t.Errorf("%s: the Events of the object changed", tc.reason)
			}
		})
	}
}
