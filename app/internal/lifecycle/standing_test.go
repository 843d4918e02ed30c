// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// TestBrokenPodOfEarlierChange: a scaling of a StatefulSet waits for a Pod that it did not create. It does so
// since the scaling, and the reason of the Pod is its cause.
func TestBrokenPodOfEarlierChange(t *testing.T) {
	s := newStory()
	s.write("web", deployment(1), ofKind("apps", "StatefulSet"), func(st *observation.State) {
		st.Leaves = []observation.Leaf{{Path: "spec.podManagementPolicy", Value: 1, Shown: "OrderedReady"}}
	})
	s.write("web-0", pod("web"), func(st *observation.State) {
		st.Owners[0].Kind = object.Kind{Group: "apps", Version: "v1", Kind: "StatefulSet"}
	}, bind, unpulled)
	s.rv += 10 // a second
	s.write("web", func(st *observation.State) { scaled(2)(st); set("spec.replicas")(st) })
	scaledAt := s.now()
	const sentence = "StatefulSet web waits for Pod web-0, which cannot pull image web:2 of container app: not found"
	seen := ""
	for _, trace := range observe(s.seen).Traces(s.now().Add(time.Minute)) {
		if got := reasonsOf(trace); got["lifeline.reason"] == string(reason.Ordinal) {
			seen = trace.Reason
			if next := got["lifeline.reason.next"]; next != "kubectl -n default describe pod/web-0" {
				t.Errorf("next: got %q", next)
			}
			if cause := got["lifeline.reason.cause"]; cause != string(reason.ImageNotFound) {
				t.Errorf("cause: got %q, want %q", cause, reason.ImageNotFound)
			}
			since, err := time.Parse(time.RFC3339Nano, got["lifeline.reason.since"])
			if err != nil || since.Sub(scaledAt).Abs() > 100*time.Millisecond {
				t.Errorf("since: got %q, want %s", got["lifeline.reason.since"], scaledAt)
			}
		}
	}
	if seen != sentence {
		t.Errorf("got %q, want %q", seen, sentence)
	}
}

// TestBrokenPodFromBefore: the reason of a Pod that was found broken counts from the change that waits for it.
func TestBrokenPodFromBefore(t *testing.T) {
	s := newStory()
	s.write("web", deployment(1), ofKind("apps", "StatefulSet"), func(st *observation.State) {
		st.Leaves = []observation.Leaf{{Path: "spec.podManagementPolicy", Value: 1, Shown: "OrderedReady"}}
	})
	s.baseline()
	s.write("web-0", pod("web"), func(st *observation.State) {
		st.Owners[0].Kind = object.Kind{Group: "apps", Version: "v1", Kind: "StatefulSet"}
	}, bind, unpulled)
	s.baseline()
	s.rv += 10
	s.write("web", func(st *observation.State) { scaled(2)(st); set("spec.replicas")(st) })
	at := s.now()
	traces := observe(s.seen).Traces(s.now().Add(time.Minute))
	if len(traces) != 2 { // the first one is that of the objects as found
		t.Fatalf("want two traces, got:\n%s", outline(traces))
	}
	got := reasonsOf(traces[1])
	since, err := time.Parse(time.RFC3339Nano, got["lifeline.reason.since"])
	if err != nil || since.Sub(at).Abs() > 100*time.Millisecond ||
		got["lifeline.reason.cause"] != string(reason.ImageNotFound) {
		t.Errorf("got %v, want the cause since %s", got, at)
	}
}

// TestUnboundClaim: a Pod waits for its claim, and the claim for a provisioner.
func TestUnboundClaim(t *testing.T) {
	s := newStory()
	s.write("data", ofKind("", "PersistentVolumeClaim"), func(st *observation.State) {
		st.ObservedGeneration, st.Progress = -1, observation.ProgressInProgress
		st.Leaves = []observation.Leaf{{Path: "spec.storageClassName", Value: 1, Shown: "fast"}}
	})
	s.report("data", "data", func(ev *observation.Event) {
		ev.Related, ev.Reason = nil, "ExternalProvisioning"
		ev.Note = "Waiting for a volume to be created either by the external provisioner 'disk.example.com' or manually"
	})
	s.write("web", ofKind("", "Pod"), func(st *observation.State) {
		st.Pod = &observation.Pod{Phase: "Pending"}
		st.Relations = []object.Relation{{
			Type: object.Claim, To: object.Name{Kind: "PersistentVolumeClaim", Namespace: "default", Name: "data"},
		}}
		st.Conditions = []observation.Condition{{
			Type: "PodScheduled", Status: "False", Reason: "Unschedulable",
			Message: "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.",
		}}
	})
	const want = "waits for provisioner disk.example.com of storage class fast"
	reasons := map[string]string{}
	for _, trace := range observe(s.seen).Traces(s.now().Add(time.Minute)) {
		of := reasonsOf(trace)
		reasons[trace.Reason] = of["lifeline.reason"] + " by " + of["lifeline.reason.cause"]
	}
	if diff := cmp.Diff(map[string]string{
		"PersistentVolumeClaim data " + want:                          "claim_unprovisioned by ",
		"Pod web waits for PersistentVolumeClaim data, which " + want: "volume_not_bound by claim_unprovisioned",
	}, reasons); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	inAnyOrder(t, s, outline)
}

// TestPreemptor: the reason of a preempted Pod has the name of the other Pod, which the scheduler's Event does not
// have.
func TestPreemptor(t *testing.T) {
	s := newStory()
	s.write("web", pod(""), bind)
	s.write("urgent", pod(""))
	s.write("web", deleting, func(st *observation.State) {
		st.Conditions = []observation.Condition{{
			Type: "DisruptionTarget", Status: "True", Reason: "PreemptionByScheduler", Message: "preempting",
		}}
	})
	s.report("web", "urgent", reportedBy("default-scheduler", ""), func(ev *observation.Event) {
		ev.Related, ev.Reason, ev.Note = nil, "Preempted", "Preempted by pod uid-urgent on node node-1"
	})
	for _, trace := range observe(s.seen).Traces(s.now().Add(time.Second)) {
		if trace.Reason == "Pod web is preempted by Pod urgent on node node-1" {
			return
		}
	}
	t.Error("no trace has the name of the other Pod")
}

// TestEachStuckObject: each object below the root has its own reason, not only the one to blame.
func TestEachStuckObject(t *testing.T) {
	s := newStory()
	s.write("web", deployment(2))
	s.write("web-1", replicaSet("web", 2))
	for _, name := range []string{"a", "b"} {
		s.write(name, pod("web-1"), bind, unpulled)
	}
	traces := observe(s.seen).Traces(s.now().Add(time.Minute))
	got := map[string]string{}
	for _, sp := range traces[0].Spans {
		for _, kv := range sp.Attributes {
			if kv.Key == span.KeyReasonMessage {
				got[sp.Object.Name] = kv.Value.AsString()
			}
		}
	}
	const pulls = " cannot pull image web:2 of container app: not found"
	want := map[string]string{"web": "Pod a" + pulls + " (and 1 more)", "a": "Pod a" + pulls, "b": "Pod b" + pulls}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestStanding: only an object that exists and has converged has such a reason.
func TestStanding(t *testing.T) {
	s := newStory()
	suspended := func(st *observation.State) {
		ofKind("batch", "CronJob")(st)
		st.Leaves = []observation.Leaf{{Path: "spec.suspend", Value: 1, Shown: "true"}}
	}
	s.write("work", suspended, arrived)
	if got := observe(s.seen).Standing("uid-work"); got.Category != reason.Suspended {
		t.Errorf("got %+v, want that it is suspended", got)
	}
	if got := observe(s.seen).Standing("uid-none"); got.Text != "" {
		t.Errorf("got %+v of an unknown object", got)
	}
	s.write("work", func(st *observation.State) { st.Progress = observation.ProgressInProgress })
	if got := observe(s.seen).Standing("uid-work"); got.Text != "" {
		t.Errorf("got %+v of an object on its way", got)
	}
}

// readiness sets the condition Ready of a Node.
func readiness(status string) func(*observation.State) {
	return func(st *observation.State) {
		st.Conditions = []observation.Condition{{Type: "Ready", Status: status}}
	}
}

// reasonAt returns the reason of the newest change of the Pod web at a time.
func reasonAt(t *testing.T, e *Engine, now time.Time) (category, since string) {
	t.Helper()
	if ids := e.Differences(now); len(ids) > 0 {
		t.Errorf("the groups differ from the whole in %v", ids)
	}
	for _, trace := range slices.Backward(e.Traces(now)) {
		if trace.Root().Object.Name == "web" {
			of := reasonsOf(trace)
			return of["lifeline.reason"], of["lifeline.reason.since"]
		}
	}
	t.Fatal("there is no trace of the Pod")
	return "", ""
}

// TestReasonByNode: the reason of a Pod follows its Node from look to look.
func TestReasonByNode(t *testing.T) {
	s := newStory()
	s.write("node-1", aNode, readiness("True"))
	s.write("web", pod(""), bind)
	e, told := New(Options{Cluster: "test"}), 0
	for _, step := range []struct {
		act  func()
		want reason.Category
	}{
		{func() {}, ""},
		{func() { s.write("node-1", readiness("Unknown")) }, reason.NodeLost},
		{func() { s.write("node-1", readiness("True")) }, ""},
		{func() { s.write("node-1", readiness("False")) }, reason.NodeNotReady},
		{func() { s.gone("node-1") }, ""},
	} {
		step.act()
		for ; told < len(s.seen); told++ {
			e.Observe(s.seen[told])
		}
		if got, _ := reasonAt(t, e, s.now().Add(time.Millisecond)); got != string(step.want) {
			t.Errorf("after %d observations: got %q, want %q", told, got, step.want)
		}
	}
}

// TestOverdue: the end of a Pod's grace period is a reason without another observation.
func TestOverdue(t *testing.T) {
	s := newStory()
	s.write("web", pod(""), bind)
	end := s.now().Add(30 * time.Second)
	s.write("web", func(st *observation.State) { st.Deleting, st.GraceSeconds = end, 30 })
	e := observe(s.seen)
	for after, want := range map[time.Duration]reason.Category{
		-time.Second: "", 5 * time.Second: "", 15 * time.Second: reason.TerminationOverdue,
	} {
		got, since := reasonAt(t, e, end.Add(after))
		if got != string(want) || got != "" && since != end.UTC().Format(time.RFC3339Nano) {
			t.Errorf("%s after the grace period: got %q since %q, want %q", after, got, since, want)
		}
	}
}
