// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/problem"
)

// problemsOf returns a line per problem: rank by order, count, sentence and age at the time now.
func problemsOf(l problem.List) []string {
	var out []string
	for _, p := range l.Problems {
		age := "since " + p.Since.Sub(epoch).String()
		if p.Before {
			age = "before " + p.Since.Sub(epoch).String()
		}
		out = append(out, fmt.Sprintf("%d %s: %s, %s", p.Count, p.Category, p.Reason, age))
	}
	return out
}

// broken adds Deployment NAME with one Pod that cannot pull an image.
func (s *story) broken(name string) {
	s.write(name, deployment(1))
	s.write(name+"-1", replicaSet(name, 1))
	s.write(name+"-1-a", pod(name+"-1"), bind, unpulled)
}

func wantProblems(t *testing.T, e *Engine, now time.Time, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, problemsOf(e.Problems(now))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestProblemOfOwner: the problem of a Pod is that of its Deployment, which has not its desired state either. It goes
// on through a pull between two back-offs, and a converged minute ends it.
func TestProblemOfOwner(t *testing.T) {
	s := newStory()
	s.broken("web")
	const want = "1 image_not_found: Deployment web cannot pull image web:2 of container app: not found, since 0s"
	e := observe(s.seen)
	wantProblems(t, e, s.now(), want)
	first := e.Problems(s.now()).Problems[0]
	if first.Blamed == nil || first.Blamed.Name != "web-1-a" || first.Image != "web:2" || first.Cause == nil ||
		first.Cause.Verb != "create" || first.Cause.Object.Name != "web" {
		t.Errorf("got %+v, cause %+v", first, first.Cause)
	}
	told := len(s.seen)
	s.rv += 100
	s.write("web-1-a", func(st *observation.State) {
		st.Pod.Containers = []observation.Container{{
			Name: "app", Image: "web:2", State: &observation.ContainerState{Waiting: true, Reason: "ContainerCreating"},
		}}
	})
	step := func() {
		for ; told < len(s.seen); told++ {
			e.Observe(s.seen[told])
		}
		e.Take(s.now())
	}
	step()
	wantProblems(t, e, s.now(), want)
	s.write("web-1-a", func(st *observation.State) { st.Pod.Containers[0].State = nil }, ready)
	s.write("web-1", arrived)
	s.write("web", arrived)
	step()
	at := s.now()
	wantProblems(t, e, at.Add(59*time.Second), want)
	if got := e.Problems(at.Add(59 * time.Second)).Problems[0].ID; got != first.ID {
		t.Errorf("the ID is %s, and was %s", got, first.ID)
	}
	if !e.Due(at.Add(61 * time.Second)) {
		t.Error("no look is due at the end of the problem")
	}
	wantProblems(t, e, at.Add(61*time.Second))
}

// TestProblemsOfOneImage: the objects that lack one image are one problem, in any order of the observations.
func TestProblemsOfOneImage(t *testing.T) {
	s := newStory()
	for i := range 40 {
		s.broken(fmt.Sprint("web", i))
	}
	want := observe(s.seen).Problems(s.now())
	if len(want.Problems) != 1 || want.Problems[0].Count != 40 || len(want.Problems[0].Objects) != problem.MaxObjects {
		t.Fatalf("got %v", problemsOf(want))
	}
	for seed := range uint64(5) {
		got := observe(permuted(s.seen, seed)).Problems(s.now())
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("permutation %d: -first +permuted:\n%s", seed, diff)
		}
	}
}

// refusedBy sets the condition ReplicaFailure.
func refusedBy(message string) func(*observation.State) {
	return func(st *observation.State) {
		st.Generation, st.ObservedGeneration = 1, 1
		st.Conditions = []observation.Condition{{
			Type: "ReplicaFailure", Status: "True", Reason: "FailedCreate", Message: message,
			Since: written(st.ResourceVersion).Truncate(time.Second),
		}}
	}
}

// TestOverlappingCauses: 40 Deployments behind a webhook and a quota are two problems, with looks between the
// observations and in any order.
func TestOverlappingCauses(t *testing.T) {
	const webhook = `Internal error occurred: failed calling webhook "check.example.com": connection refused`
	const quota = `pods "web" is forbidden: exceeded quota: small, requested: pods=1, used: pods=1, limited: pods=1`
	s := newStory()
	for i := range 40 {
		name := fmt.Sprint("web", i)
		s.write(name, deployment(1))
		s.write(name+"-1", replicaSet(name, 1))
		first, second := webhook, quota
		if i%2 == 0 {
			first, second = quota, webhook
		}
		s.write(name+"-1", refusedBy(first))
		s.write(name+"-1", refusedBy(second))
	}
	end := s.now()
	short := func(l problem.List) map[string]string {
		out := map[string]string{}
		for _, p := range l.Problems {
			out[p.ID] = fmt.Sprintf("%d %s by %s", p.Count, p.Category, p.Blamed.Name)
		}
		return out
	}
	want := short(observe(s.seen).Problems(end))
	if len(want) != 2 {
		t.Fatalf("got %v", want)
	}
	for seed := range uint64(8) {
		e := New(Options{Cluster: "test"})
		for i, o := range permuted(s.seen, seed) {
			e.Observe(o)
			if seed%2 == 1 && i%37 == 0 {
				e.Problems(end)
			}
		}
		got := short(e.Problems(end))
		if seed%2 == 1 { // the problem keeps an ID from a look at a part of the observations
			if len(got) != 2 {
				t.Errorf("permutation %d: got %v", seed, got)
			}
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("permutation %d: -first +permuted:\n%s", seed, diff)
		}
	}
}

// TestProblemSurvivesRestart: age, ID and earlier reasons are those of the lost process.
func TestProblemSurvivesRestart(t *testing.T) {
	s := newStory()
	s.broken("web")
	e := observe(s.seen)
	e.Take(s.now())
	told := len(s.seen)
	s.rv += 50
	s.write("web-1-a", func(st *observation.State) {
		st.Pod.Containers = []observation.Container{{Name: "app", Image: "web:2", State: &observation.ContainerState{
			Waiting: true, Reason: "CreateContainerConfigError", Message: `secret "key" not found`,
		}}}
	})
	for ; told < len(s.seen); told++ {
		e.Observe(s.seen[told])
	}
	e.Take(s.now())
	later := s.now().Add(time.Hour)
	want := e.Problems(later)
	if len(want.Problems) != 1 || len(want.Problems[0].Earlier) != 1 ||
		want.Problems[0].Earlier[0].Category != "image_not_found" || !want.Problems[0].Since.Equal(epoch) {
		t.Fatalf("got %+v", want.Problems)
	}
	if diff := cmp.Diff(want, restored(t, e).Problems(later)); diff != "" {
		t.Errorf("-left alone +restored:\n%s", diff)
	}
}

// TestProblemsOfReplay: a process that replays the looks of a lost one, without its lists, has the same problems. An
// object keeps the ID of a problem whose first object is gone.
func TestProblemsOfReplay(t *testing.T) {
	s := newStory()
	s.broken("old")
	s.wait(time.Minute)
	s.broken("web")
	met := len(s.seen)
	s.wait(time.Minute)
	for _, name := range []string{"old-1-a", "old-1", "old"} {
		s.gone(name)
	}
	lost, replayed := New(Options{Cluster: "test"}), New(Options{Cluster: "test"})
	var first problem.List
	for i, o := range s.seen {
		for _, e := range []*Engine{lost, replayed} {
			e.Observe(o)
			e.Take(o.Seen)
		}
		if l := lost.Problems(o.Seen); i == met-1 {
			first = l
		}
	}
	got := replayed.Problems(s.now())
	if diff := cmp.Diff(lost.Problems(s.now()), got); diff != "" {
		t.Errorf("-lost +replayed:\n%s", diff)
	}
	if len(first.Problems) != 1 || len(got.Problems) != 1 || got.Problems[0].Object.Name != "web" ||
		got.Problems[0].ID != first.Problems[0].ID {
		t.Errorf("got %+v, was %+v", got.Problems, first.Problems)
	}
}

// TestCauseOfUnfinished: the cause of a problem that begins with the end of its change is complete.
func TestCauseOfUnfinished(t *testing.T) {
	s := newStory()
	s.write("web", deployment(1), managedBy("kubectl-create"))
	s.write("web-1", replicaSet("web", 1))
	s.write("web-1-a", pod("web-1"), bind)
	e := observe(s.seen)
	e.Take(s.now())
	later := s.now().Add(2 * time.Hour)
	e.Take(later)
	got := e.Problems(later).Problems
	if len(got) != 1 || got[0].Cause == nil {
		t.Fatalf("got %+v", got)
	}
	if c := got[0].Cause; c.Who != "kubectl" || c.Verb != "create" || c.Object == nil || c.Object.Name != "web" ||
		c.Start.IsZero() {
		t.Errorf("got the cause %+v", c)
	}
}

// TestCauseOfLateProblem: a Service without an endpoint counts after a minute. Its creation is the cause, also if its
// trace has ended; an old creation is not.
func TestCauseOfLateProblem(t *testing.T) {
	for worked, caused := range map[time.Duration]bool{0: true, time.Hour: false} {
		s := newStory()
		s.write("svc", service, selecting)
		if worked > 0 {
			s.write("svc-1", slice("svc", "a"))
			s.wait(worked)
		}
		s.write("svc-1", empty("svc"))
		e, now := New(Options{Cluster: "test"}), epoch
		for _, o := range s.seen {
			for ; now.Before(o.Seen); now = now.Add(10 * time.Second) {
				e.Take(now)
			}
			e.Observe(o)
		}
		for now = s.now(); now.Before(s.now().Add(5 * time.Minute)); now = now.Add(10 * time.Second) {
			e.Take(now)
		}
		got := e.Problems(now).Problems
		if len(got) != 1 || (got[0].Cause != nil) != caused {
			t.Errorf("after it worked for %s: got %+v", worked, got)
		}
	}
}

// TestSnapshotStays: a later version of the blamed object does not change a snapshot, which other goroutines read.
func TestSnapshotStays(t *testing.T) {
	s := newStory()
	s.broken("web")
	e := observe(s.seen)
	of := problem.Selection{Limit: 1, Exists: func(object.Ref) bool { return true }}
	snapshot := e.AllProblems(s.now())
	before := snapshot.Select(of)
	told := len(s.seen)
	s.write("web-1-a", func(st *observation.State) { st.Kind.Version = "v2" })
	e.Observe(s.seen[told])
	if diff := cmp.Diff(before, snapshot.Select(of)); diff != "" || before.Problems[0].Blamed == nil {
		t.Errorf("-before +after:\n%s", diff)
	}
}

// TestOtherProblems: objects without Pods have problems, too. A removal ends a problem at once.
func TestOtherProblems(t *testing.T) {
	s := newStory()
	since := written(s.rv - 600)
	s.write("node-1", aNode, func(st *observation.State) {
		st.Namespace, st.Progress, st.ObservedGeneration = "", observation.ProgressCurrent, -1
		st.Leaves = []observation.Leaf{{Path: "spec.unschedulable", Value: 1, Shown: "true"}}
	})
	s.write("hpa", ofKind("autoscaling", "HorizontalPodAutoscaler"), func(st *observation.State) {
		st.ObservedGeneration = 1
		st.Conditions = []observation.Condition{{
			Type: "ScalingActive", Status: "False", Reason: "FailedGetResourceMetric", Message: "no metrics",
			Since: since,
		}}
	})
	s.write("cert", ofKind("example.com", "Thing"), func(st *observation.State) {
		st.ObservedGeneration, st.Progress, st.ProgressMessage = 1, observation.ProgressInProgress, "cannot issue"
		st.Conditions = []observation.Condition{{
			Type: "Ready", Status: "False", Reason: "Failed", Message: "cannot issue", Since: since,
		}}
	})
	s.before()
	e := observe(s.seen)
	wantProblems(t, e, s.now(),
		"1 condition_false: Thing cert is not ready: cannot issue, since -1m0s",
		"1 scale_metric: HorizontalPodAutoscaler hpa cannot read a metric: no metrics, since -1m0s",
		"1 node_cordoned: Node node-1 is cordoned: the scheduler gives it no new Pods, before 100ms",
	)
	s.gone("cert")
	e.Observe(s.seen[len(s.seen)-1])
	if got := problemsOf(e.Problems(s.now())); len(got) != 2 {
		t.Errorf("after the removal: got %v", got)
	}
}

// TestNoProblem: an ordinary wait, a suspended Job and a grace period are no problems.
func TestNoProblem(t *testing.T) {
	s := newStory()
	s.write("web", deployment(1))
	s.write("web-1", replicaSet("web", 1))
	s.write("web-1-a", pod("web-1"), bind)
	s.write("old", pod(""), bind, deleting)
	s.write("work", ofKind("batch", "CronJob"), arrived, func(st *observation.State) {
		st.Leaves = []observation.Leaf{{Path: "spec.suspend", Value: 1, Shown: "true"}}
	})
	wantProblems(t, observe(s.seen), s.now())
}
