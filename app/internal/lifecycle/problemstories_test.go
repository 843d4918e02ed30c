// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/problem"
)

// shown adds fields with values, as path and value in turn. Equal values have equal digests.
func shown(fields ...string) func(*observation.State) {
	return func(st *observation.State) {
		st.Leaves = slices.Clone(st.Leaves)
		for i := 0; i < len(fields); i += 2 {
			value := fields[i+1]
			digest := uint64(len(value))
			for _, r := range value {
				digest = digest*31 + uint64(r)
			}
			st.Leaves = slices.DeleteFunc(st.Leaves, func(l observation.Leaf) bool { return l.Path == fields[i] })
			st.Leaves = append(st.Leaves, observation.Leaf{Path: fields[i], Value: digest, Shown: value, Managers: 1})
		}
		slices.SortFunc(st.Leaves, func(a, b observation.Leaf) int { return cmpText(a.Path, b.Path) })
	}
}

func cmpText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// empty is an EndpointSlice without an endpoint, and unready one whose Pods are not ready.
func empty(of string) func(*observation.State) {
	return func(st *observation.State) {
		slice(of)(st)
		st.Leaves = nil
	}
}

// conditioned sets the only condition, with the present second as its time.
func conditioned(typ, status, why, message string) func(*observation.State) {
	return func(st *observation.State) {
		st.Conditions = []observation.Condition{{
			Type: typ, Status: status, Reason: why, Message: message,
			Since: written(st.ResourceVersion).Truncate(time.Second),
		}}
	}
}

var (
	progressing = func(st *observation.State) {
		st.ObservedGeneration, st.Progress = -1, observation.ProgressInProgress
	}
	unready   = conditioned("Ready", "False", "ContainersNotReady", "")
	labelled  = shown("metadata.labels.app", "web")
	templated = shown("spec.template.metadata.labels.app", "web")
	selecting = shown("spec.selector.app", "web")
	// late is a Deployment behind its progress deadline.
	late = func(st *observation.State) {
		st.ObservedGeneration = st.Generation
		conditioned("Progressing", "False", "ProgressDeadlineExceeded", "")(st)
	}
	aJob = func(st *observation.State) {
		ofKind("batch", "Job")(st)
		st.Managers = []observation.Manager{{Name: "kube-controller-manager", Operation: "Update", Fields: 1}}
		st.ObservedGeneration, st.Progress = -1, observation.ProgressInProgress
		st.Owners = []object.Owner{{Kind: kind.CronJob.Kind, Name: "work", UID: "uid-work", Controller: true}}
	}
	failedJob = func(st *observation.State) {
		conditioned("Failed", "True", "BackoffLimitExceeded", "Job has reached the specified backoff limit")(st)
		st.Progress, st.ProgressMessage = observation.ProgressFailed, "Job has reached the specified backoff limit"
	}
	aCronJob = func(st *observation.State) {
		ofKind("batch", "CronJob")(st)
		st.ObservedGeneration, st.Progress = -1, observation.ProgressCurrent
	}
)

// TestProblemStories: the problems at a time after the last observation, with the observations at once, and with a
// look after each.
func TestProblemStories(t *testing.T) {
	withService := func(s *story, edits ...func(*observation.State)) {
		s.write("svc", service, selecting)
		s.write("svc-1", empty("svc"))
		s.write("web", append([]func(*observation.State){deployment(1), templated}, edits...)...)
	}
	for name, tc := range map[string]struct {
		reason string
		tell   func(*story)
		after  time.Duration
		want   []string
		looks  bool
	}{
		"A rollout with a Service": {
			"the Service waits as its Pods do",
			func(s *story) {
				withService(s)
				s.write("web-1", replicaSet("web", 1))
				s.write("web-1-a", pod("web-1"), labelled, bind)
				s.write("svc-1", slice("svc"))
			}, 5 * time.Minute, nil, false,
		},
		"A broken rollout with a Service": {
			"one problem, with the sentence of the Deployment",
			func(s *story) {
				withService(s)
				s.write("web-1", replicaSet("web", 1))
				s.write("web-1-a", pod("web-1"), labelled, bind, unpulled)
				s.write("svc-1", slice("svc"))
			}, 2 * time.Minute,
			[]string{
				"2 image_not_found: Deployment web cannot pull image web:2 of container app: not found, since 0s",
			}, false,
		},
		"Scaled to 0": {
			"a Service without Pods is no problem then",
			func(s *story) {
				withService(s, sized(0), arrived)
			}, time.Hour, nil, false,
		},
		"A Service without Pods, at first": {
			"objects are created in any order",
			func(s *story) {
				s.write("svc", service, selecting)
				s.write("svc-1", empty("svc"))
			}, 59 * time.Second, nil, false,
		},
		"A Service without Pods": {
			"", func(s *story) {
				s.write("svc", service, selecting)
				s.write("svc-1", empty("svc"))
			}, 62 * time.Second,
			[]string{"1 no_endpoints: Service svc has no endpoint: no Pod has the label app=web, since 200ms"}, false,
		},
		"A Service loses its last Pod": {
			"the age is that of the loss, not of the newest EndpointSlice",
			func(s *story) {
				s.write("svc", service, selecting)
				s.write("svc-1", slice("svc", "a"))
				s.wait(time.Hour)
				s.write("svc-1", empty("svc"))
				s.wait(time.Minute)
				s.write("svc-1", empty("svc"), set("metadata.labels.other"))
			}, time.Minute,
			[]string{"1 no_endpoints: Service svc has no endpoint: no Pod has the label app=web, since 1h0m0.3s"}, true,
		},
		"A claim without its class": {
			"a claim has that from its creation on",
			func(s *story) {
				s.write("data", ofKind("", "PersistentVolumeClaim"), progressing)
				s.before()
				s.emit(observation.Observation{Event: &observation.Event{
					UID: "event", ResourceVersion: s.rv, Regarding: s.objects["data"].Ref, Type: "Warning",
					Reason: "ProvisioningFailed", Note: `storageclass.storage.k8s.io "fast" not found`, Last: s.now(),
				}})
			}, time.Hour,
			[]string{"1 claim_without_class: PersistentVolumeClaim data cannot be provisioned: " +
				`storageclass.storage.k8s.io "fast" not found, since 0s`}, false,
		},
		"An APIService": {
			"", func(s *story) {
				s.write("v1.down.example.com", ofKind("apiregistration.k8s.io", "APIService"), progressing,
					conditioned("Available", "False", "ServiceNotFound", `service/none in "x" is not present`))
			}, 0,
			[]string{`1 api_service_unavailable: APIService v1.down.example.com is not available: ` +
				`service/none in "x" is not present, since 0s`}, false,
		},
		"A Node with two workloads": {
			"they share one problem, that of the Node",
			func(s *story) {
				s.write("node-1", aNode, readiness("True"))
				s.broken("old")
				for _, web := range []string{"web", "api"} {
					s.write(web, deployment(1), fresh)
					s.write(web+"-1", replicaSet(web, 1), fresh)
					s.write(web+"-1-a", pod(web+"-1"), bind, ready)
					s.write(web+"-1", arrived)
					s.write(web, arrived)
				}
				s.wait(time.Hour)
				s.before()
				s.write("node-1", readiness("False"), progressing)
				for _, web := range []string{"web", "api"} {
					s.write(web+"-1-a", unready)
					s.write(web, func(st *observation.State) { st.Workload.Available, st.Workload.Ready = 0, 0 })
				}
			}, time.Minute,
			[]string{
				"3 node_not_ready: Node node-1 is not ready, since 1h0m1.5s",
				"1 image_not_found: Deployment old cannot pull image web:2 of container app: not found, before 200ms",
			}, false,
		},
		"A CronJob that fails each minute": {
			"one problem from the first failure on",
			func(s *story) {
				s.write("work", aCronJob)
				for i, end := range []func(*observation.State){arrived, failedJob, failedJob, failedJob} {
					name := fmt.Sprint("work-", i)
					s.wait(time.Minute)
					s.write(name, aJob)
					s.write(name, end)
				}
			}, 0,
			[]string{"1 job_backoff_limit: CronJob work failed in its last run: Job work-3 failed: " +
				"Job has reached the specified backoff limit, since 2m0s"}, false,
		},
		"A CronJob that works again": {
			"", func(s *story) {
				s.write("work", aCronJob)
				for i, end := range []func(*observation.State){failedJob, arrived} {
					name := fmt.Sprint("work-", i)
					s.wait(time.Minute)
					s.write(name, aJob)
					s.write(name, end)
				}
			}, 61 * time.Second, nil, false,
		},
		"A suspended CronJob": {
			"its last run may have failed",
			func(s *story) {
				s.write("work", aCronJob)
				s.write("work-1", aJob)
				s.write("work-1", failedJob)
				s.write("work", shown("spec.suspend", "true"))
			}, 2 * time.Minute, nil, false,
		},
		"An autoscaler at first": {
			"its controller has read no metric yet",
			func(s *story) {
				s.write("hpa", ofKind("autoscaling", "HorizontalPodAutoscaler"), arrived,
					conditioned("ScalingActive", "False", "FailedGetResourceMetric", "no metrics"))
			}, 59 * time.Second, nil, false,
		},
		"An autoscaler that flaps": {
			"it reads a metric for less than a minute",
			func(s *story) {
				s.write("hpa", ofKind("autoscaling", "HorizontalPodAutoscaler"), arrived,
					conditioned("ScalingActive", "True", "ValidMetricFound", ""))
				s.wait(time.Hour)
				for range 3 {
					s.write("hpa", conditioned("ScalingActive", "False", "FailedGetResourceMetric", "no metrics"))
					s.wait(2 * time.Minute)
					s.write("hpa", conditioned("ScalingActive", "True", "ValidMetricFound", ""))
					s.wait(40 * time.Second)
					s.write("hpa", conditioned("ScalingActive", "False", "FailedGetResourceMetric", "no metrics"))
					s.wait(2 * time.Minute)
				}
			}, 0,
			[]string{
				"1 scale_metric: HorizontalPodAutoscaler hpa cannot read a metric: no metrics, since 1h0m0s",
			}, true,
		},
		"An autoscaler of a broken target": {
			"it follows its target",
			func(s *story) {
				s.write("hpa", ofKind("autoscaling", "HorizontalPodAutoscaler"), arrived, func(st *observation.State) {
					st.Relations = []object.Relation{{Type: object.Target, To: object.Name{
						Group: "apps", Kind: "Deployment", Namespace: "default", Name: "web",
					}}}
				}, conditioned("ScalingActive", "False", "FailedGetResourceMetric",
					"did not receive metrics for targeted pods (pods might be unready)"))
				s.broken("web")
			}, 2 * time.Minute,
			[]string{
				"2 image_not_found: Deployment web cannot pull image web:2 of container app: not found, since 0s",
			}, false,
		},
		"A progress deadline": {
			"its reason has what the rollout waits for",
			func(s *story) {
				s.write("web", deployment(1))
				s.write("web-1", replicaSet("web", 1))
				s.write("web-1-a", pod("web-1"), bind)
				s.wait(10 * time.Minute)
				s.write("web", late)
			}, time.Minute,
			[]string{"1 progress_deadline: Deployment web exceeded its progress deadline: Pod web-1-a waits for " +
				"container app to start, since 0s"}, false,
		},
		"A custom resource": {
			"", func(s *story) {
				s.write("cert", ofKind("example.com", "Thing"), progressing,
					conditioned("Ready", "False", "Failed", "backend not found"))
			}, 0,
			[]string{"1 condition_false: Thing cert is not ready: backend not found, since 0s"}, false,
		},
		"A crash loop": {
			"short times in which the Pod is ready do not begin it again",
			func(s *story) {
				s.write("web", deployment(1))
				s.write("web-1", replicaSet("web", 1))
				s.write("web-1-a", pod("web-1"), bind)
				for n := range int32(4) {
					s.wait(40 * time.Second)
					s.write("web-1-a", ready, again)
					s.write("web-1", arrived)
					s.write("web", arrived)
					s.wait(20 * time.Second)
					s.write("web-1-a", crash(n+1))
					s.write("web-1", func(st *observation.State) { st.Workload.Available = 0 })
					s.write("web", func(st *observation.State) { st.Workload.Available = 0 })
				}
			}, 0,
			[]string{"1 crash_loop: Deployment web is in a crash loop: container app exited with code 3, " +
				"restarted 4 times, since 1m0.9s"}, true,
		},
		"An unfinished change": {
			"it has made no progress for the patience of the engine",
			func(s *story) {
				s.write("web", deployment(1))
				s.write("web-1", replicaSet("web", 1))
				s.write("web-1-a", pod("web-1"), bind)
			}, 2 * time.Hour,
			[]string{"1 : Deployment web waits for container app to start, since 0s"}, false,
		},
		"A Pod that is not ready any more": {
			"without a change, an ordinary wait counts after ten minutes",
			func(s *story) {
				s.write("a", pod(""), bind, ready)
				s.wait(time.Hour - 200*time.Millisecond)
				s.write("a", unready)
			}, 10*time.Minute + time.Second,
			[]string{"1 : Pod a waits for container app to start, since 1h0m0s"}, false,
		},
		"A Pod that is not ready for a while": {
			"", func(s *story) {
				s.write("a", pod(""), bind, ready)
				s.wait(time.Hour)
				s.write("a", unready)
			}, 10*time.Minute - time.Second, nil, false,
		},
		"Objects at their limits": {
			"they work as declared",
			func(s *story) {
				s.write("pdb", ofKind("policy", "PodDisruptionBudget"), arrived,
					conditioned("DisruptionAllowed", "False", "InsufficientPods", ""))
				s.write("hpa", ofKind("autoscaling", "HorizontalPodAutoscaler"), arrived,
					conditioned("ScalingLimited", "True", "TooManyReplicas", ""))
				s.write("volume", ofKind("", "PersistentVolume"), arrived, func(st *observation.State) {
					st.ProgressMessage = observation.Released
				})
			}, time.Hour, nil, false,
		},
		"A Job that works for hours": {
			"", func(s *story) {
				s.write("job", aJob, func(st *observation.State) { st.Owners = nil })
				s.before()
			}, 5 * time.Hour, nil, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			tc.tell(s)
			now := s.now().Add(tc.after)
			if !tc.looks { // without looks, the age is that of the newest part of the story
				e := observe(s.seen)
				e.Take(now)
				wantProblems(t, e, now, tc.want...)
			}
			for _, restart := range []bool{false, true} {
				e := New(Options{Cluster: "test"})
				for _, o := range s.seen {
					e.Take(o.Seen.Add(-time.Millisecond))
					e.Observe(o)
					e.Take(o.Seen)
					if restart {
						e = restored(t, e)
					}
				}
				e.Take(now)
				wantProblems(t, e, now, tc.want...)
			}
		})
	}
}

// TestCordonCause: the cause of a cordon is the change of its field, and not a later one.
func TestCordonCause(t *testing.T) {
	s := newStory()
	s.write("node-1", aNode)
	s.wait(time.Minute)
	s.before()
	s.write("node-1", managedBy("kubectl-cordon"), shown("spec.unschedulable", "true"))
	e, told := New(Options{Cluster: "test"}), 0
	look := func() *problem.Cause {
		for ; told < len(s.seen); told++ {
			e.Observe(s.seen[told])
		}
		e.Take(s.now())
		return e.Problems(s.now()).Problems[0].Cause
	}
	first := look()
	if first == nil || first.Who != "kubectl" || !slices.Equal(first.Fields, []string{"spec.unschedulable"}) {
		t.Fatalf("got the cause %+v", first)
	}
	s.wait(time.Hour)
	s.write("node-1", managedBy("kubectl-label"), shown("metadata.labels.team", "a"))
	if diff := cmp.Diff(first, look()); diff != "" {
		t.Errorf("after another change: -first +now:\n%s", diff)
	}
}

// TestChangeOfStanding: a change after the beginning did not lead to the reason of an object in its desired state.
func TestChangeOfStanding(t *testing.T) {
	for after, caused := range map[time.Duration]bool{-time.Second: true, 10 * time.Minute: false} {
		s := newStory()
		s.wait(time.Hour)
		s.write("work", aCronJob, shown("spec.schedule", "a"))
		s.write("work-1", aJob)
		s.write("work-1", failedJob)
		s.before()
		s.wait(after + time.Second)
		s.write("work", shown("spec.schedule", "b"), func(st *observation.State) { st.Generation++ })
		e := observe(s.seen)
		e.Take(s.now())
		got := e.Problems(s.now()).Problems
		if len(got) != 1 || (got[0].Cause != nil) != caused {
			t.Errorf("a change %s after: got %+v", after, got)
		}
	}
}

// TestLaterChange: a later change of a broken object is not the cause. One that replaces the reason is.
func TestLaterChange(t *testing.T) {
	s := newStory()
	s.broken("web")
	s.write("web", shown("spec.paused", "false"))
	e, told := New(Options{Cluster: "test"}), 0
	look := func() problem.Problem {
		for ; told < len(s.seen); told++ {
			e.Observe(s.seen[told])
		}
		e.Take(s.now())
		return e.Problems(s.now()).Problems[0]
	}
	first := look()
	s.wait(30 * time.Minute)
	s.write("web", scaled(2))
	if got := look(); !cmp.Equal(got.Cause, first.Cause) || got.ID != first.ID {
		t.Errorf("after a change of the size: got the cause %+v", got.Cause)
	}
	s.wait(30 * time.Minute)
	s.write("web", managedBy("kubectl-set"), set("spec.template.spec.containers[name=app].image"))
	s.write("web-2", replicaSet("web", 1))
	s.write("web-2-a", pod("web-2"), bind, func(st *observation.State) {
		st.Pod.Containers = []observation.Container{{Name: "app", Image: "web:3", State: &observation.ContainerState{
			Waiting: true, Reason: "CreateContainerConfigError", Message: `secret "key" not found`,
		}}}
	})
	got := look()
	if got.Category != "secret_missing" || got.Cause == nil ||
		!slices.Equal(got.Cause.Fields, []string{"spec.template.spec.containers[name=app].image"}) {
		t.Errorf("after a change of the image: got %s by %+v", got.Category, got.Cause)
	}
	if got.ID != first.ID || !got.Since.Equal(first.Since) || len(got.Earlier) != 1 {
		t.Errorf("got ID %s since %v with %d earlier reasons", got.ID, got.Since, len(got.Earlier))
	}
}

// TestOneCrashLoop: a Deployment with a status behind that of its Pod does not make the Pod a problem of its own.
func TestOneCrashLoop(t *testing.T) {
	s := newStory()
	s.write("web", deployment(1))
	s.write("web-1", replicaSet("web", 1))
	s.write("web-1-a", pod("web-1"), bind)
	for n := range int32(4) {
		s.wait(20 * time.Second)
		s.write("web-1-a", ready, again)
		s.write("web-1", arrived)
		s.write("web", arrived)
		s.wait(2 * time.Second)
		s.write("web-1-a", crash(n+1))
		s.wait(5 * time.Second)
		s.write("web-1", func(st *observation.State) { st.Workload.Available = 0 })
		s.write("web", func(st *observation.State) { st.Workload.Available = 0 })
	}
	e := New(Options{Cluster: "test"})
	got := map[string]bool{}
	for _, o := range s.seen {
		e.Observe(o)
		for _, p := range e.Problems(o.Seen).Problems {
			if p.Object.Name == "web" || len(got) > 0 { // the first crash is known of the Pod first
				got[p.ID+" "+p.Object.Name] = true
			}
		}
	}
	if len(got) != 1 {
		t.Errorf("got %v, want one problem of one object", got)
	}
}

// TestOneOfTwoReasons: a Deployment with Pods that fail for two reasons stays in one problem while a Pod is between two
// pulls. After the repair of its image, the other Pod explains the Deployment.
func TestOneOfTwoReasons(t *testing.T) {
	s := newStory()
	s.write("node-2", ofKind("", "Node"), readiness("True"))
	s.broken("web")
	s.write("web", deployment(2))
	s.write("web-1", replicaSet("web", 2))
	s.write("web-1-b", pod("web-1"), bind, func(st *observation.State) { st.Pod.Node = "node-2" }, ready)
	s.wait(time.Minute)
	s.write("node-2", readiness("Unknown"))
	s.write("web-1-b", unready)
	waiting := func(why, message string) {
		s.wait(20 * time.Second)
		s.write("web-1-a", func(st *observation.State) {
			st.Pod.Containers = []observation.Container{{
				Name: "app", Image: "web:2",
				State: &observation.ContainerState{Waiting: true, Reason: why, Message: message},
			}}
		})
	}
	for range 3 {
		waiting("ContainerCreating", "")
		waiting("ErrImagePull", "not found")
		waiting("ImagePullBackOff", "Back-off pulling image")
	}
	e := New(Options{Cluster: "test"})
	first := ""
	for _, o := range s.seen {
		e.Observe(o)
		now := ""
		for _, p := range e.Problems(o.Seen).Problems {
			if p.Object.Name == "web" {
				now = p.ID + " " + p.Category
			}
		}
		if first == "" {
			first = now
		}
		if now != first {
			t.Errorf("after %s: got %q, want %q", o.Seen.Sub(epoch), now, first)
		}
	}
	s.write("web-1-a", ready, func(st *observation.State) { st.Pod.Containers[0].State = nil })
	e.Observe(s.seen[len(s.seen)-1])
	all := e.Problems(s.now().Add(2 * time.Minute)).Problems
	if len(all) != 1 || all[0].Object.Name != "node-2" || all[0].Count != 2 {
		t.Errorf("after the repair of the image: got %+v", all)
	}
}

// TestRepairInProgress: after a repair, the old reason does not stay, and the object is the same problem until it has
// its desired state.
func TestRepairInProgress(t *testing.T) {
	s := newStory()
	s.broken("web")
	e := observe(s.seen)
	e.Take(s.now())
	first := e.Problems(s.now()).Problems[0]
	told := len(s.seen)
	s.wait(time.Hour)
	s.write("web-1-a", func(st *observation.State) {
		st.Pod.Containers = []observation.Container{{
			Name: "app", Image: "web:2", State: &observation.ContainerState{Started: s.now()},
		}}
		st.Pod.Phase = "Running"
		unready(st)
	})
	for ; told < len(s.seen); told++ {
		e.Observe(s.seen[told])
	}
	e.Take(s.now())
	if got := e.Problems(s.now()).Problems[0]; got.Category != first.Category {
		t.Errorf("at once: got %s", got.Category)
	}
	later := s.now().Add(61 * time.Second)
	got := e.Problems(later).Problems
	if len(got) != 1 || got[0].ID != first.ID || got[0].Category != "" || len(got[0].Earlier) != 1 ||
		got[0].Reason != "Deployment web waits for container app to be ready" {
		t.Errorf("after a minute: got %+v", got)
	}
}

// TestIDsOfProblems: no two problems have one ID, also of objects with one owner and one beginning.
func TestIDsOfProblems(t *testing.T) {
	s := newStory()
	owned := func(st *observation.State) {
		st.Owners = []object.Owner{{
			Kind: object.Kind{Group: "example.com", Version: "v1", Kind: "App"}, Name: "app", UID: "uid-app",
			Controller: true,
		}}
	}
	s.write("app", ofKind("example.com", "App"), arrived)
	for i := range 5 {
		s.write(fmt.Sprint("thing-", i), ofKind("example.com", "Thing"), owned, progressing,
			conditioned("Ready", "False", "Failed", fmt.Sprint("backend not found ", i)))
	}
	ids := map[string]types.UID{}
	for _, p := range observe(s.seen).Problems(s.now()).Problems {
		if other, known := ids[p.ID]; known {
			t.Errorf("%s and %s have ID %s", other, p.Object.UID, p.ID)
		}
		ids[p.ID] = p.Object.UID
	}
	if len(ids) != 5 {
		t.Errorf("got %d problems, want 5", len(ids))
	}
}
