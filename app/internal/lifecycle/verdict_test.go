// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// unpulled is a container without its image.
func unpulled(st *observation.State) {
	st.Pod.Containers = []observation.Container{{
		Name: "app", Image: "web:2",
		State: &observation.ContainerState{Waiting: true, Reason: "ErrImagePull", Message: "web:2: not found"},
	}}
}

// reasonsOf returns the attributes of the root about its reason, as text.
func reasonsOf(t *span.Trace) map[string]string {
	out := map[string]string{}
	for _, kv := range t.Root().Attributes {
		switch kv.Key {
		case span.KeyReason, span.KeyReasonObject, span.KeyReasonMessage, span.KeyReasonSince, span.KeyReasonBefore,
			span.KeyReasonNext, span.KeyReasonCause:
			out[string(kv.Key)] = kv.Value.String()
		}
	}
	return out
}

// TestReasonOfTrace: the root names the object to blame, since when, and what it waited for before.
// Many objects with one reason are one sentence.
func TestReasonOfTrace(t *testing.T) {
	s := newStory()
	s.write("web", deployment(3))
	s.write("web-1", replicaSet("web", 3))
	for _, name := range []string{"web-1-a", "web-1-b", "web-1-c"} {
		s.write(name, pod("web-1"))
	}
	s.rv += 10 // a second
	for _, name := range []string{"web-1-a", "web-1-b", "web-1-c"} {
		s.write(name, bind, unpulled)
	}
	traces := observe(s.seen).Traces(s.now().Add(time.Minute))
	got := reasonsOf(traces[0])
	const sentence = "Pod web-1-a cannot pull image web:2 of container app: not found (and 2 more)"
	for key, want := range map[string]string{
		"lifeline.reason": "image_not_found", "lifeline.reason.object": "Pod web-1-a",
		"lifeline.reason.message": sentence, "lifeline.reason.before": `["1.3s for a node"]`,
		"lifeline.reason.since": written(116).Format(time.RFC3339Nano),
		"lifeline.reason.next":  "kubectl -n default describe pod/web-1-a",
	} {
		if got[key] != want {
			t.Errorf("%s: got %q, want %q", key, got[key], want)
		}
	}
	if traces[0].Reason != sentence || traces[0].Outcome != span.Unfinished {
		t.Errorf("got %s: %s", traces[0].Outcome, traces[0].Reason)
	}
	inAnyOrder(t, s, func(traces []*span.Trace) string { return fmt.Sprint(reasonsOf(traces[0])) })
}

// TestReasonsOfACommand: a command writes two Deployments, and each lacks another image. The root has the
// reason of one, and does not count the other as the same.
func TestReasonsOfACommand(t *testing.T) {
	s := newStory()
	s.run(runID, "kubectl apply")
	for _, name := range []string{"a", "b"} {
		s.write(name, deployment(1))
		s.requested(runID, "create", 201)
		s.write(name+"-1", replicaSet(name, 1))
		s.write(name+"-1-x", pod(name+"-1"), bind, func(st *observation.State) {
			unpulled(st)
			st.Pod.Containers[0].Image = name + ":2"
		})
	}
	s.write("c", deployment(1))
	s.requested(runID, "create", 201)
	s.write("c", arrived)
	s.ran(runID, "kubectl apply")
	traces := observe(s.seen).Traces(s.now().Add(time.Minute))
	const sentence = "Pod %[1]s-1-x cannot pull image %[1]s:2 of container app: not found"
	if got := traces[0].Reason; got != fmt.Sprintf(sentence, "a") {
		t.Errorf("the root: got %q", got)
	}
	for _, sp := range traces[0].Spans {
		if sp.Name != "reconcile Deployment" {
			continue
		}
		want := fmt.Sprintf(sentence, sp.Object.Name)
		if sp.Object.Name == "c" {
			want = ""
		}
		if got := insight.Attribute(sp, span.KeyReasonMessage); got != want {
			t.Errorf("Deployment %s: got %q, want %q", sp.Object.Name, got, want)
		}
	}
}

// TestWeightiestReason: of two Pods, the one with the reason that may become final is blamed.
func TestWeightiestReason(t *testing.T) {
	s := newStory()
	s.write("web", deployment(2))
	s.write("web-1", replicaSet("web", 2))
	s.write("web-1-a", pod("web-1"), func(st *observation.State) { st.Pod.SchedulingGates = []string{"example.com/a"} })
	s.write("web-1-b", pod("web-1"), bind, unpulled)
	traces := observe(s.seen).Traces(s.now().Add(time.Minute))
	if got := reasonsOf(traces[0]); got["lifeline.reason"] != "image_not_found" ||
		got["lifeline.reason.object"] != "Pod web-1-b" {
		t.Errorf("got %v", got)
	}
	inAnyOrder(t, s, func(traces []*span.Trace) string { return fmt.Sprint(reasonsOf(traces[0])) })
}

// TestOrdinaryWait: a wait that is not in the list leaves no reason on the root.
func TestOrdinaryWait(t *testing.T) {
	s := newStory()
	s.write("web", deployment(1))
	s.write("web-1", replicaSet("web", 1))
	s.write("web-1-a", pod("web-1"))
	traces := observe(s.seen).Traces(s.now().Add(5 * time.Second))
	if got := reasonsOf(traces[0]); len(got) > 0 || traces[0].Reason != "Pod web-1-a waits for a node" {
		t.Errorf("got %v, %q", got, traces[0].Reason)
	}
}

// TestSilence: a scheduler, a node or a manager that does not react is the reason after a while.
func TestSilence(t *testing.T) {
	for name, tc := range map[string]struct {
		tell func(s *story)
		now  string // after 5 s
		want string // after a minute
	}{
		"scheduler": {func(s *story) {
			s.write("web", pod("gone"), func(st *observation.State) {
				st.Owners, st.Pod.Scheduler = nil, "crane-scheduler"
			})
		}, "Pod web waits for a node", "Pod web waits for scheduler crane-scheduler, which does not react: no " +
			"scheduler of that name seems to run"},
		"node": {func(s *story) {
			s.write("node-1", ofKind("", "Node"), func(st *observation.State) { st.Namespace = "" })
			s.write("web", pod("gone"), func(st *observation.State) {
				st.Owners, st.Pod.Node = nil, "node-99"
			})
		}, "Pod web waits for container app to start", "Pod web is assigned to node node-99, which does not exist"},
		"manager": {func(s *story) {
			s.write("web", ofKind("batch", "Job"), func(st *observation.State) {
				st.ObservedGeneration, st.Progress = -1, observation.ProgressInProgress
				st.Workload = &observation.Workload{Replicas: 1}
				st.Leaves = []observation.Leaf{{Path: "spec.managedBy", Value: 1, Shown: "kueue.x-k8s.io/multikueue"}}
			})
		}, "Job web waits for its controller to report completion", "Job web waits for kueue.x-k8s.io/multikueue, " +
			"which manages it and has not begun; the built-in controller ignores it"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			tc.tell(s)
			at := func(after time.Duration) string {
				for _, trace := range observe(s.seen).Traces(s.now().Add(after)) {
					if trace.Root().Object.Name == "web" {
						return trace.Reason
					}
				}
				return "no trace"
			}
			if got := at(5 * time.Second); got != tc.now {
				t.Errorf("after 5 s: got %q, want %q", got, tc.now)
			}
			if got := at(time.Minute); got != tc.want {
				t.Errorf("after a minute: got %q, want %q", got, tc.want)
			}
			inAnyOrder(t, s, func(traces []*span.Trace) string { return fmt.Sprint(len(traces), traces[0].Reason) })
		})
	}
}

// TestFirstReaction: a Pod waits for a node once its scheduler has handled another Pod.
func TestFirstReaction(t *testing.T) {
	s := newStory()
	by := func(st *observation.State) { st.Owners, st.Pod.Scheduler = nil, "late-scheduler" }
	s.write("web", pod("gone"), by)
	e := observe(s.seen)
	reason := func() string {
		for _, trace := range e.Traces(s.now().Add(time.Minute)) {
			if trace.Root().Object.Name == "web" {
				return trace.Reason
			}
		}
		return "no trace"
	}
	const silent = "Pod web waits for scheduler late-scheduler, which does not react: no scheduler of that name " +
		"seems to run"
	if got := reason(); got != silent {
		t.Errorf("before: got %q, want %q", got, silent)
	}
	s.write("other", pod("gone"), by, bind, func(st *observation.State) {
		st.Conditions = []observation.Condition{{Type: "PodScheduled", Status: "True"}}
	})
	e.Observe(s.seen[len(s.seen)-1])
	if got, want := reason(), "Pod web waits for a node"; got != want {
		t.Errorf("after: got %q, want %q", got, want)
	}
}

// TestClaimInUse: the deletion of a claim waits for the Pod that uses it, and ends with the Pod.
func TestClaimInUse(t *testing.T) {
	s := newStory()
	s.write("data", ofKind("", "PersistentVolumeClaim"), func(st *observation.State) {
		st.ObservedGeneration, st.Finalizers = -1, []string{"kubernetes.io/pvc-protection"}
		st.Progress = observation.ProgressCurrent
	})
	s.write("store", pod("gone"), bind, func(st *observation.State) {
		st.Owners = nil
		st.Relations = []object.Relation{{
			Type: object.Claim,
			To:   object.Name{Kind: "PersistentVolumeClaim", Namespace: "default", Name: "data"},
		}}
	}, ready)
	s.wait(time.Minute)
	s.write("data", func(st *observation.State) {
		st.Deleting, st.Progress = s.now(), observation.ProgressTerminating
	})
	reasons := func(traces []*span.Trace) string {
		for _, trace := range traces {
			if trace.Root().Object.Name == "data" && trace.Outcome != span.Converged {
				return fmt.Sprint(trace.Outcome, " ", trace.Reason)
			}
		}
		return ""
	}
	traces := observe(s.seen).Traces(s.now().Add(time.Minute))
	const want = "unfinished PersistentVolumeClaim data waits for the end of Pod store, which uses it"
	if got := reasons(traces); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	inAnyOrder(t, s, reasons)
}

// TestReasonOfReplacedFailure: a failure keeps its reason after somebody else has deleted the Pod.
func TestReasonOfReplacedFailure(t *testing.T) {
	s := newStory()
	s.write("web", pod(""))
	s.write("web", bind)
	s.write("web", ready)
	s.wait(300 * time.Millisecond)
	s.write("web", crash(1))
	s.write("web", deleting)
	s.gone("web")
	traces := observe(s.seen).Traces(s.now().Add(time.Minute))
	got := reasonsOf(traces[0])
	if got["lifeline.reason"] != "crash_loop" || got["lifeline.reason.since"] != written(107).Format(time.RFC3339Nano) {
		t.Errorf("got %v, want the crash loop since 107", got)
	}
}

// TestUnknownSince: the history of an object found at the start begins with its reason.
func TestUnknownSince(t *testing.T) {
	s := newStory()
	s.write("web", deployment(1))
	s.write("web-1", replicaSet("web", 1))
	s.write("web-1-a", pod("web-1"), bind, unpulled)
	s.before()
	s.write("web-1-a", unpulled)
	e := New(Options{Cluster: "test", Rebuild: true})
	for _, o := range s.seen {
		e.Observe(o)
	}
	for _, tr := range e.Traces(s.now().Add(time.Minute)) {
		if got := reasonsOf(tr); got["lifeline.reason"] != "image_not_found" || got["lifeline.reason.since"] != "" {
			t.Errorf("got %v", got)
		}
	}
}
