// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/tree"
)

// TestOutcomes: the outcome of a change is that of the changed object, not of the attempts below
// it.
func TestOutcomes(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		tell   func(s *story)
		want   string
	}{
		"Rejected": {"a Pod that a kubelet rejects is a failed attempt of a ReplicaSet that converges", func(s *story) {
			s.write("web", deployment(1))
			s.write("web-1", replicaSet("web", 1))
			s.write("web-1-a", pod("web-1"))
			s.write("web-1-a", bind)
			s.write("web-1-a", func(st *observation.State) { st.Pod.Phase, st.Pod.Reason = "Failed", "OutOfcpu" })
			s.write("web-1-b", pod("web-1"))
			s.write("web-1-b", bind)
			s.write("web-1-b", ready)
			s.write("web-1", arrived)
			s.write("web", arrived)
		}, `
trace 0 converged
  reconcile Deployment web converged
    reconcile ReplicaSet web-1 converged (owner)
      reconcile Pod web-1-a failed (owner)
        schedule web-1-a
        sandbox web-1-a
      reconcile Pod web-1-b converged (owner)
        schedule web-1-b
        sandbox web-1-b
`},
		"CreatedAndChanged": {"a change takes all from the creation of a kind that has one part", func(s *story) {
			spec := func(value uint64) func(*observation.State) {
				return func(st *observation.State) {
					st.Leaves = []observation.Leaf{{Path: "spec.size", Value: value, Managers: 1}}
				}
			}
			s.write("app", custom("App"), spec(1))
			s.write("app", changed, spec(2))
			s.write("app", arrived)
		}, `
trace 0 superseded
  reconcile App app superseded
trace 1 converged
  reconcile App app converged ~previous
`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			tc.tell(s)
			if diff := cmp.Diff(tc.want[1:], s.outline(t)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func conditionReady(status string) func(*observation.State) {
	return func(st *observation.State) {
		st.ObservedGeneration = st.Generation
		st.Conditions = []observation.Condition{{Type: "Ready", Status: status}}
	}
}

// TestLateReady: an object ends when it is ready, not when its controller has observed it.
func TestLateReady(t *testing.T) {
	s := newStory()
	s.write("door", custom("Gateway"), func(st *observation.State) { st.ObservedGeneration = -1 })
	s.wait(time.Second)
	s.write("door", conditionReady("False"))
	s.wait(2 * time.Minute)
	s.write("door", conditionReady("True"), arrived)
	traces := observe(s.seen).Traces(s.now().Add(time.Minute))
	if len(traces) != 1 {
		t.Fatalf("want one trace, got:\n%s", outline(traces))
	}
	root := traces[0].Root()
	if took := root.End.Sub(root.Start.Time); took < 2*time.Minute {
		t.Errorf("took %s, want at least 2 min", took)
	}
}

// TestFoundLater: an object found at its second generation has the same IDs for its creation and
// that generation as with both observed.
func TestFoundLater(t *testing.T) {
	s := newStory()
	s.write("app", custom("App"))
	s.write("app", changed, by("user-b"))
	first := observe(s.seen).Traces(s.now().Add(time.Second))
	s.before()
	s.write("app", changed, by("user-c"))
	second := observe(s.seen).Traces(s.now().Add(time.Second))
	saw, found := authorsOf(first), authorsOf(second)
	if diff := cmp.Diff([]string{"App app: kubectl ", "App app: user-b "}, saw); diff != "" {
		t.Fatalf("one observer: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"App app: user-b ", "App app: user-c "}, found); diff != "" {
		t.Fatalf("the other observer: -want +got:\n%s", diff)
	}
	if first[1].ID != second[0].ID || first[0].ID == first[1].ID || second[0].ID == second[1].ID {
		t.Errorf("one observer has %s and %s, the other %s and %s; want generation 2 in both",
			first[0].ID, first[1].ID, second[0].ID, second[1].ID)
	}
}

// TestFailedAtDeadline: a rollout has failed at its deadline, although the errors of the pull go on for two days.
// The fix has a link to it.
func TestFailedAtDeadline(t *testing.T) {
	s := newStory()
	s.settled(1)
	waits := func(st *observation.State) {
		st.ObservedGeneration, st.Progress = st.Generation, observation.ProgressInProgress
		st.Workload.Total, st.Workload.Updated, st.Conditions = 2, 1, nil
	}
	s.write("web", valued(newImage, 2), by("user-a"))
	s.revised(2, 1, 1)
	s.write("web", waits)
	s.write("web-2-a", bind, unpulled)
	begun := s.now()
	var failed, fixed time.Time
	for s.now().Sub(begun) < 48*time.Hour {
		s.wait(150 * time.Second)
		if failed.IsZero() && s.now().Sub(begun) >= 10*time.Minute {
			s.write("web", func(st *observation.State) {
				st.Progress = observation.ProgressFailed
				st.Conditions = []observation.Condition{
					{Type: "Progressing", Status: "False", Reason: "ProgressDeadlineExceeded"},
				}
			})
			failed = s.now()
		}
		s.write("web-2-a", func(st *observation.State) {
			st.Pod.Containers = slices.Clone(st.Pod.Containers)
			st.Pod.Containers[0].State = &observation.ContainerState{
				Waiting: true, Reason: "ImagePullBackOff", Message: "Back-off pulling image",
			}
		})
		s.wait(150 * time.Second)
		s.write("web-2-a", unpulled)
	}
	s.write("web", valued(newImage, 3), by("user-a"), waits)
	fixed = s.now()
	s.revised(3, 1, 1)
	s.removed("web-2", 0, "a")
	s.started("web-3", "a")
	s.removed("web-1", 0, "a")
	s.write("web", arrived)

	e, at := New(Options{Cluster: "test"}), epoch
	var taken []*span.Trace
	var when []time.Time
	look := func(until time.Time) {
		for ; at.Before(until); at = at.Add(5 * time.Second) {
			for _, tr := range e.Take(at) {
				taken, when = append(taken, tr), append(when, at)
			}
		}
	}
	for _, o := range s.seen {
		look(o.Seen)
		e.Observe(o)
	}
	look(s.now().Add(time.Minute))
	const text = "Deployment web exceeded its progress deadline: Pod web-2-a cannot pull image web:2 of container app"
	if len(taken) != 2 || taken[0].Outcome != span.Failed || !strings.HasPrefix(taken[0].Reason, text) ||
		taken[1].Outcome != span.Converged {
		t.Fatalf("handed out:\n%s\nwant two traces, the first failed: %s", outline(taken), text)
	}
	if when[0].Before(failed) || when[0].Sub(failed) > time.Minute || when[1].Before(fixed) {
		t.Errorf("failed at %s and fixed at %s, handed out at %v", failed, fixed, when)
	}
	if got := linksOf(taken); !slices.Contains(got, "Deployment web of 1: previous Deployment web of 0") {
		t.Errorf("no link from the fix to the failure: %q", got)
	}
}

// TestFailureIsToldOnce: an object that reports the same failure every 5 minutes for a week has failed
// once. Its span has at most 128 events, and counts the others.
func TestFailureIsToldOnce(t *testing.T) {
	const reports = 7 * 24 * 12
	s := newStory()
	s.write("app", custom("Kustomization"))
	e := New(Options{Cluster: "test"})
	var taken []*span.Trace
	for i := range reports {
		taken = append(taken, e.Take(s.now().Add(time.Minute))...)
		s.wait(5 * time.Minute)
		s.write("app", func(st *observation.State) {
			st.ObservedGeneration, st.Progress = st.Generation, observation.ProgressFailed
			st.ProgressMessage = "build failed"
			st.Conditions = []observation.Condition{
				{Type: "Ready", Status: "False", Message: fmt.Sprint("attempt ", i)},
			}
		})
		for _, o := range s.seen {
			e.Observe(o)
		}
		s.seen = nil
		for _, tr := range append(e.Traces(s.now()), e.Amendments()...) {
			for _, sp := range tr.Spans {
				if len(sp.Events) > tree.MaxEvents {
					t.Fatalf(
						"after %d reports: %s has %d events, want at most %d",
						i+1,
						sp.Name,
						len(sp.Events),
						tree.MaxEvents,
					)
				}
			}
		}
	}
	if len(taken) != 1 || taken[0].Outcome != span.Failed ||
		taken[0].Reason != "Kustomization app failed: build failed" {
		t.Errorf("handed out:\n%s\nwant one trace, failed: build failed", outline(taken))
	}
	if open := e.Traces(s.now()); len(open) > 0 {
		t.Errorf("still open:\n%s", outline(open))
	}
}

// TestAddress: a Service waits for the address of its load balancer, and a change without that wait has no phase.
func TestAddress(t *testing.T) {
	s := newStory()
	waiting := func(st *observation.State) { st.Progress = observation.ProgressInProgress }
	s.write("web", ofKind("", "Service"), func(st *observation.State) { st.ObservedGeneration = -1 }, waiting)
	s.wait(40 * time.Second)
	s.write("web", arrived, func(st *observation.State) {
		st.ObservedGeneration = -1
		st.Managers = []observation.Manager{{Name: "cloud-controller", Subresource: "status", Time: s.now()}}
	})
	s.wait(time.Minute)
	s.write("web", set("spec.selector.app"), func(st *observation.State) { st.ObservedGeneration = -1 })
	var got []string
	for _, tr := range observe(s.seen).Traces(s.now().Add(time.Minute)) {
		for _, sp := range tr.Spans {
			got = append(
				got,
				fmt.Sprint(sp.Name, " by ", sp.Service, " ", sp.End.Sub(sp.Start.Time).Round(time.Second)),
			)
		}
	}
	want := []string{
		"reconcile Service by service-controller 40s",
		"assign address by cloud-controller 40s",
		"reconcile Service by service-controller 0s",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestLastWriteOfACommand: a trace of a command waits for the effects of its last write, also long after the end of
// its other changes.
func TestLastWriteOfACommand(t *testing.T) {
	s := newStory()
	s.run(runID, "deploy.sh")
	s.write("web", deployment(0))
	s.requested(runID, "create", 201)
	s.write("web", arrived)
	s.wait(2 * time.Minute)
	s.ran(runID, "deploy.sh")
	e := observe(s.seen)
	if n := len(e.Take(s.now().Add(time.Second))); n > 0 {
		t.Error("handed out a second after the end of the command")
	}
	if n := len(e.Take(s.now().Add(time.Minute))); n != 1 {
		t.Errorf("%d traces were handed out, want 1", n)
	}
}

// TestStatusEachSecond: a change is handed out after its end, also if its object gets a status more often than
// the time to settle.
func TestStatusEachSecond(t *testing.T) {
	for name, tc := range map[string]struct {
		progress observation.Progress
		within   time.Duration
		outcome  span.Outcome
		many     bool // more reports than a span has events
	}{
		"Converged":   {observation.ProgressCurrent, time.Minute, span.Converged, false},
		"In progress": {observation.ProgressInProgress, 5 * time.Minute, span.Unfinished, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			s.write("app", custom("Widget"))
			e := New(Options{Cluster: "test", Patience: 3 * time.Minute})
			var taken []*span.Trace
			for i := range int(10 * time.Minute / time.Second) {
				s.rv += 9
				s.write("app", conditionReady("False"), func(st *observation.State) {
					st.ObservedGeneration, st.Progress = st.Generation, tc.progress
					st.Conditions[0].Message = fmt.Sprint("report ", i)
				})
				for _, o := range s.seen {
					e.Observe(o)
				}
				s.seen = nil
				now := s.now().Add(500 * time.Millisecond)
				taken = append(taken, e.Take(now)...)
				if len(taken) > 0 && now.Sub(epoch) < tc.within {
					tc.within = 0
				}
			}
			if len(taken) != 1 || taken[0].Outcome != tc.outcome || tc.within != 0 {
				t.Fatalf("handed out:\n%s\nwant one trace in time: %s", outline(taken), tc.outcome)
			}
			if root := taken[0].Root(); len(root.Events) > tree.MaxEvents || (root.DroppedEvents > 0) != tc.many {
				t.Errorf("%d events, and %d counted", len(root.Events), root.DroppedEvents)
			}
			if open := e.Traces(s.now()); len(open) > 0 {
				t.Errorf("still open:\n%s", outline(open))
			}
		})
	}
}
