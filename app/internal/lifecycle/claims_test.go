// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// told plays the story with a look every 5 seconds, and until a while after its end. It returns the outcome of each
// handed-out trace and then each later claim, in order. The engine is saved and restored after each look if saved is
// true.
func (s *story) told(t *testing.T, saved bool) []string {
	t.Helper()
	e, at := New(Options{Cluster: "test"}), epoch
	var out []string
	look := func(until time.Time) {
		for ; at.Before(until); at = at.Add(5 * time.Second) {
			for _, tr := range e.Take(at) {
				out = append(out, fmt.Sprintf("%s %s", since(at), tr.Outcome))
			}
			for _, tr := range e.Amendments() {
				for _, sp := range tr.Spans {
					if sp.Name == span.NameAmend {
						out = append(out, claimed(sp))
					}
				}
			}
			if saved && at.Sub(epoch)%time.Minute == 0 {
				e = restored(t, e)
			}
		}
	}
	for _, o := range s.seen {
		look(o.Seen)
		e.Observe(o)
	}
	look(s.now().Add(2 * time.Minute))
	for _, o := range e.index.Objects() {
		if o.Revisable != nil && o.Removal != nil {
			t.Errorf("%s is gone, and its claim waits for another", o.Ref.Name)
		}
	}
	return out
}

func since(at time.Time) string { return at.Sub(epoch).Round(time.Minute).String() }

func claimed(sp *span.Span) string {
	line := fmt.Sprintf("%s %s %s", since(sp.Start.Time), sp.Object.Name, sp.Outcome)
	for _, kv := range sp.Attributes {
		switch kv.Key {
		case span.KeyClaim, span.KeyTraceOutcome:
			line += fmt.Sprintf(" %s=%s", kv.Key, kv.Value.String())
		}
	}
	return line + " (" + sp.Message + ")"
}

// refusedIn adds the refused creation of a ConfigMap by a run's command.
func (s *story) refusedIn(run, name string) {
	s.rv++
	s.emit(observation.Observation{Source: observation.SourceRequest, Write: &observation.Write{
		Ref:  object.Ref{Kind: object.Kind{Version: "v1", Kind: "ConfigMap"}, Namespace: "default", Name: name},
		Verb: "POST", Code: 403, Reason: "Forbidden", Message: "denied",
		Start: s.now().Add(-20 * time.Millisecond), End: s.now().Add(-time.Millisecond),
		UserAgent: "kubectl/v1.36.3", TraceParent: fmt.Sprintf("00-%s-%016x-01", run, s.rv),
	}})
}

// TestRevisedOutcomes: a failed or unfinished change whose object recovers gets a new claim.
func TestRevisedOutcomes(t *testing.T) {
	deadline := func(st *observation.State) {
		st.Progress = observation.ProgressFailed
		st.Conditions = []observation.Condition{
			{Type: "Progressing", Status: "False", Reason: "ProgressDeadlineExceeded"},
		}
	}
	observed := func(st *observation.State) { st.ObservedGeneration = st.Generation }
	running := func(st *observation.State) {
		st.ObservedGeneration, st.Progress = -1, observation.ProgressInProgress
	}
	recovered := func(st *observation.State) {
		arrived(st)
		st.Conditions = nil
	}
	rollout := func(s *story) {
		s.settled(1)
		s.write("web", valued(newImage, 2), by("user-a"))
		s.revised(2, 1, 1)
		s.write("web", func(st *observation.State) {
			st.ObservedGeneration, st.Progress = st.Generation, observation.ProgressInProgress
			st.Workload.Total, st.Workload.Updated = 2, 1
		})
		s.write("web-2-a", bind, unpulled)
		s.wait(10 * time.Minute)
		s.write("web", deadline)
		s.wait(5 * time.Minute)
	}
	flapping := func(s *story, set, p string, times int32) {
		for n := range times {
			s.write(p, ready, unprobed, func(st *observation.State) {
				c := &st.Pod.Containers[0]
				if c.Restarts = n; n > 0 {
					c.Last = &observation.ContainerState{Started: epoch, Finished: epoch.Add(1), ExitCode: 3}
				}
			})
			s.write(set, arrived)
			s.write("web", recovered)
			s.wait(5 * time.Second)
			s.write(p, crash(n+1))
			s.write(set, unavailable)
			s.write("web", unavailable)
			s.wait(5 * time.Minute)
		}
	}
	begun := func(s *story, edits ...func(*observation.State)) {
		s.write("web", deployment(1))
		s.write("web-1", replicaSet("web", 1))
		s.write("web-1-a", pod("web-1"), unprobed)
		s.write("web-1-a", append(edits, bind)...)
	}
	const run = "00000000000000000000000000000007"
	for name, tc := range map[string]struct {
		tell func(s *story)
		want []string
	}{
		"A crash loop goes on for four hours": {
			func(s *story) {
				begun(s)
				flapping(s, "web-1", "web-1-a", 50)
			},
			[]string{"0s failed"},
		},
		"A crash loop follows after two hours": {
			func(s *story) {
				begun(s, unpulled)
				s.wait(2 * time.Hour)
				flapping(s, "web-1", "web-1-a", 3)
			},
			[]string{"1h0m0s unfinished"},
		},
		"A crash loop follows after the deadline": {
			func(s *story) {
				rollout(s)
				flapping(s, "web-2", "web-2-a", 2)
			},
			[]string{"12m0s failed"},
		},
		"One crash is too short for the status": {
			func(s *story) {
				begun(s)
				s.write("web-1-a", ready, unprobed)
				s.write("web-1", arrived)
				s.write("web", arrived)
				s.wait(4 * time.Second)
				s.write("web-1-a", ready, unprobed, func(st *observation.State) {
					c := &st.Pod.Containers[0]
					c.Restarts = 1
					c.Last = &observation.ContainerState{Started: epoch, Finished: epoch.Add(1), ExitCode: 3}
				})
				s.wait(2 * time.Hour)
			},
			[]string{"0s converged"},
		},
		"A failed rollout is scaled to zero": {
			func(s *story) {
				rollout(s)
				s.write("web", sized(0), by("user-b"))
				s.removed("web-2", 0, "a")
				s.removed("web-1", 0, "a")
				s.write("web", recovered)
			},
			[]string{"12m0s failed", "16m0s converged"},
		},
		"A command with a refused request waits for its Pod": {
			func(s *story) {
				s.run(run, "kubectl apply")
				s.write("db", pod(""))
				s.requested(run, "POST", 201)
				s.refusedIn(run, "settings")
				s.ran(run, "kubectl apply")
				s.seen[len(s.seen)-1].Run.ExitCode = 1
				s.wait(2 * time.Hour)
				s.write("db", bind)
				s.write("db", ready)
			},
			[]string{
				"1h0m0s unfinished",
				"2h0m0s db converged lifeline.claim=2 lifeline.trace.outcome=refused " +
					"(was unfinished: waits for scheduler default-scheduler, which does not react: " +
					"no scheduler of that name seems to run)",
			},
		},
		"A command deletes a slow Pod and creates another": {
			func(s *story) {
				s.write("db", pod(""))
				s.write("db", bind)
				s.write("db", ready)
				s.wait(10 * time.Minute)
				s.before()
				s.run(run, "kubectl replace")
				s.write("db", deleting, func(st *observation.State) {
					st.GraceSeconds, st.Deleting = 3*3600, st.Deleting.Add(3*time.Hour)
				})
				s.requested(run, "DELETE", 200)
				s.write("web", pod(""))
				s.requested(run, "POST", 201)
				s.write("web", bind)
				s.write("web", ready)
				s.ran(run, "kubectl replace")
				s.wait(3 * time.Hour)
				s.gone("db")
			},
			[]string{
				"1h10m0s unfinished",
				"3h10m0s db deleted lifeline.claim=2 lifeline.trace.outcome=converged (was unfinished: is terminating)",
			},
		},
		"A rollout recovers after its deadline": {
			func(s *story) {
				rollout(s)
				s.write("web-2-a", ready)
				s.write("web-2", arrived)
				s.removed("web-1", 0, "a")
				s.write("web", recovered)
			},
			[]string{
				"12m0s failed",
				"16m0s web-2-a converged lifeline.claim=2 " +
					"(was unfinished: cannot pull image web:2 of container app: not found)",
				"16m0s web-2 converged lifeline.claim=2 (was unfinished: waits for its controller to see the change)",
				"16m0s web converged lifeline.claim=2 lifeline.trace.outcome=converged " +
					"(was failed: exceeded its progress deadline)",
			},
		},
		"A scaled rollout recovers after its deadline": {
			func(s *story) {
				rollout(s)
				s.write("web", sized(2), by("autoscaler"))
				s.write("web-2", sized(2), valued(desiredReplicas, 2))
				s.write("web-2-b", pod("web-2"))
				s.write("web-2-b", bind, unpulled)
				s.write("web", deadline, observed)
				s.wait(10 * time.Minute)
				for _, p := range []string{"web-2-a", "web-2-b"} {
					s.write(p, ready)
				}
				s.write("web-2", arrived)
				s.removed("web-1", 0, "a")
				s.write("web", recovered)
			},
			[]string{
				"12m0s failed",
				"17m0s failed",
				"26m0s web-2-a converged lifeline.claim=2 " +
					"(was unfinished: cannot pull image web:2 of container app: not found)",
				"26m0s web-2 converged lifeline.claim=2 (was unfinished: waits for its controller to see the change)",
				"26m0s web converged lifeline.claim=2 lifeline.trace.outcome=converged " +
					"(was failed: exceeded its progress deadline)",
				"26m0s web-2-b converged lifeline.claim=2 " +
					"(was unfinished: cannot pull image web:2 of container app: not found)",
				"26m0s web-2 converged lifeline.claim=2 (was unfinished: waits for its controller to see the change)",
				"26m0s web converged lifeline.claim=2 lifeline.trace.outcome=converged " +
					"(was failed: exceeded its progress deadline)",
			},
		},
		"A scaled rollout is replaced after its deadline": {
			func(s *story) {
				rollout(s)
				s.write("web", sized(2), by("autoscaler"))
				s.write("web-2", sized(2), valued(desiredReplicas, 2))
				s.write("web-2-b", pod("web-2"))
				s.write("web", deadline, observed)
				s.wait(10 * time.Minute)
				s.write("web", valued(newImage, 3), by("user-a"))
				s.revised(3, 2, 2)
				s.removed("web-2", 0, "ab")
				s.started("web-3", "ab")
				s.removed("web-1", 0, "a")
				s.write("web", recovered)
			},
			[]string{
				"12m0s failed",
				"17m0s failed",
				"26m0s web converged lifeline.claim=2 lifeline.trace.outcome=converged " + // of the scale
					"(was failed: exceeded its progress deadline)",
				"26m0s converged",
			},
		},
		"A rollout recovers after a scale that has converged": {
			func(s *story) {
				rollout(s)
				s.write("web", sized(2), by("autoscaler"))
				s.write("web-1", sized(2), valued(desiredReplicas, 2))
				s.write("web-2", valued(desiredReplicas, 2))
				s.write("web-1-b", pod("web-1"))
				s.started("web-1", "b")
				s.write("web", deadline, observed, func(st *observation.State) {
					st.Workload.Total, st.Workload.Updated, st.Workload.Available = 3, 1, 2
				})
				s.wait(10 * time.Minute)
				s.write("web", sized(1), by("autoscaler"))
				s.removed("web-1", 1, "b", valued(desiredReplicas, 1))
				s.write("web-2", valued(desiredReplicas, 1))
				s.write("web", deadline, observed, func(st *observation.State) {
					st.Workload.Total, st.Workload.Updated, st.Workload.Available = 2, 1, 1
				})
				s.wait(10 * time.Minute)
				s.started("web-2", "a")
				s.removed("web-1", 0, "a")
				s.write("web", recovered)
			},
			[]string{
				"12m0s failed",
				"16m0s converged",
				"26m0s converged",
				"36m0s web-2-a converged lifeline.claim=2 " +
					"(was unfinished: cannot pull image web:2 of container app: not found)",
				"36m0s web-2 converged lifeline.claim=2 (was unfinished: waits for its controller to see the change)",
				"36m0s web converged lifeline.claim=2 lifeline.trace.outcome=converged " +
					"(was failed: exceeded its progress deadline)",
			},
		},
		"A scale converges beside a rollout that fails later": {
			func(s *story) {
				counts := func(total, updated, available int32) func(*observation.State) {
					return func(st *observation.State) {
						st.ObservedGeneration = st.Generation
						w := st.Workload
						w.Total, w.Updated, w.Ready, w.Available = total, updated, available, available
					}
				}
				rollout(s)
				s.write("web", sized(2), by("autoscaler"))
				s.write("web-2", sized(2), valued(desiredReplicas, 2))
				s.write("web-2-b", pod("web-2"))
				s.write("web-2-b", bind, unpulled)
				s.write("web", deadline, counts(3, 2, 1))
				s.wait(5 * time.Minute)
				s.write("web", valued(newImage, 3), by("user-a"))
				s.revised(3, 1, 2)
				s.removed("web-2", 0, "ab")
				s.write("web-1", sized(2), valued(desiredReplicas, 2))
				s.write("web-1-b", pod("web-1"))
				s.started("web-1", "b")
				s.write("web-3-a", bind, unpulled)
				s.write("web", counts(3, 1, 2), func(st *observation.State) {
					st.Progress, st.Conditions = observation.ProgressInProgress, nil
				})
				s.wait(10 * time.Minute)
				s.write("web", deadline)
				s.wait(5 * time.Minute)
			},
			[]string{
				"12m0s failed",
				"17m0s failed",
				"21m0s web converged lifeline.claim=2 lifeline.trace.outcome=converged " + // of the scale
					"(was failed: exceeded its progress deadline)",
				"32m0s failed",
			},
		},
		"A former ReplicaSet is scaled again after the deadline": {
			func(s *story) {
				s.settled(2)
				s.write("web", valued(newImage, 2), by("user-a"))
				s.revised(2, 1, 2)
				s.removed("web-1", 1, "b") // this scale has converged
				s.write("web", observed, func(st *observation.State) {
					st.Progress = observation.ProgressInProgress
					st.Workload.Total, st.Workload.Updated, st.Workload.Available = 2, 1, 1
				})
				s.write("web-2-a", bind, unpulled)
				s.wait(10 * time.Minute)
				s.write("web", deadline)
				s.wait(5 * time.Minute)
				s.write("web-2-a", ready)
				s.write("web-2", sized(2))
				s.write("web-2-b", pod("web-2"))
				s.started("web-2", "b")
				s.removed("web-1", 0, "a") // part of the rollout, too
				s.write("web", recovered)
			},
			[]string{
				"12m0s failed",
				"16m0s web-2-a converged lifeline.claim=2 " +
					"(was unfinished: cannot pull image web:2 of container app: not found)",
				"16m0s web-2 converged lifeline.claim=2 (was unfinished: waits for its controller to see the change)",
				"16m0s web converged lifeline.claim=2 lifeline.trace.outcome=converged " +
					"(was failed: exceeded its progress deadline)",
			},
		},
		"A command replaces one Pod, and another one fails": {
			func(s *story) {
				s.run(run, "kubectl apply")
				s.write("db", pod(""))
				s.requested(run, "POST", 201)
				s.write("job", ofKind("batch", "Job"), running)
				s.requested(run, "POST", 201)
				s.ran(run, "kubectl apply")
				s.wait(2 * time.Hour)
				s.write("db", deleting)
				s.gone("db")
				s.wait(time.Hour)
				s.write("job", func(st *observation.State) {
					st.Progress, st.ProgressMessage = observation.ProgressFailed, "BackoffLimitExceeded"
				})
			},
			[]string{
				"1h0m0s unfinished",
				"2h0m0s deleted",
				"3h0m0s job failed lifeline.claim=2 lifeline.trace.outcome=failed (failed: BackoffLimitExceeded; " +
					"was unfinished: waits for its controller to report completion)",
			},
		},
		"A command replaces one Pod, and another one starts": {
			func(s *story) {
				s.run(run, "kubectl apply")
				s.write("db", pod(""))
				s.requested(run, "POST", 201)
				s.write("web", pod(""))
				s.requested(run, "POST", 201)
				s.ran(run, "kubectl apply")
				s.wait(2 * time.Hour)
				s.write("db", deleting)
				s.gone("db")
				s.wait(time.Hour)
				s.write("web", bind)
				s.write("web", ready)
			},
			[]string{
				"1h0m0s unfinished",
				"2h0m0s deleted",
				"3h0m0s web converged lifeline.claim=2 (was unfinished: waits for scheduler default-scheduler, " +
					"which does not react: no scheduler of that name seems to run)",
			},
		},
		"A rollout is replaced after its deadline": {
			func(s *story) {
				rollout(s)
				s.write("web", valued(newImage, 3), by("user-a"))
				s.revised(3, 1, 1)
				s.removed("web-2", 0, "a")
				s.started("web-3", "a")
				s.removed("web-1", 0, "a")
				s.write("web", recovered)
			},
			[]string{"12m0s failed", "16m0s converged"},
		},
		"A Job runs for two hours": {
			func(s *story) {
				s.write("job", ofKind("batch", "Job"), running)
				s.write("job-a", pod(""), controlled(object.Kind{Group: "batch", Version: "v1", Kind: "Job"}, "job"))
				s.write("job-a", bind)
				s.write("job-a", ready)
				s.wait(2 * time.Hour)
				s.write("job-a", func(st *observation.State) { st.Pod.Phase, st.Conditions = "Succeeded", nil })
				s.write("job", recovered)
			},
			[]string{
				"1h0m0s unfinished",
				"2h0m0s job-a converged lifeline.claim=2 (was unfinished: waits for container app to start)",
				"2h0m0s job converged lifeline.claim=2 lifeline.trace.outcome=converged " +
					"(was unfinished: waits for its controller to report completion)",
			},
		},
		"A Job runs for two hours and fails": {
			func(s *story) {
				s.write("job", ofKind("batch", "Job"), running)
				s.wait(2 * time.Hour)
				s.write("job", func(st *observation.State) {
					st.Progress, st.ProgressMessage = observation.ProgressFailed, "BackoffLimitExceeded"
				})
			},
			[]string{
				"1h0m0s unfinished",
				"2h0m0s job failed lifeline.claim=2 lifeline.trace.outcome=failed (failed: BackoffLimitExceeded; " +
					"was unfinished: waits for its controller to report completion)",
			},
		},
		"A Pod needs three hours to end": {
			func(s *story) {
				s.write("db", pod(""))
				s.write("db", bind)
				s.write("db", ready)
				s.wait(time.Minute)
				s.write("db", deleting, func(st *observation.State) {
					st.GraceSeconds = 3 * 3600
					st.Deleting = st.Deleting.Add(3 * time.Hour)
				})
				s.wait(3 * time.Hour)
				s.gone("db")
			},
			[]string{
				"0s converged",
				"1h2m0s unfinished",
				"3h1m0s db deleted lifeline.claim=2 lifeline.trace.outcome=deleted (was unfinished: is terminating)",
			},
		},
		"An unfinished Pod is removed by a person": {
			func(s *story) {
				s.write("db", pod(""))
				s.wait(2 * time.Hour)
				s.write("db", deleting)
				s.gone("db")
			},
			[]string{"1h0m0s unfinished", "2h0m0s deleted"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			tc.tell(s)
			for _, saved := range []bool{false, true} {
				if diff := cmp.Diff(tc.want, s.told(t, saved)); diff != "" {
					t.Errorf("saved %t: -want +got:\n%s", saved, diff)
				}
			}
		})
	}
}
