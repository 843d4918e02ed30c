// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestJobEnd: at its limit or deadline, a Job's controller deletes the Pods before it reports the failure.
// The deletion belongs to the Job, and the last exit code stands in its reason.
func TestJobEnd(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, message string
		crashed         bool
		want            string
	}{
		"limit": {"BackoffLimitExceeded", "Job has reached the specified backoff limit", true,
			"Job job failed: Job has reached the specified backoff limit: Pod a: container app exited with code 7, " +
				"restarted once"},
		"deadline": {"DeadlineExceeded", "Job was active longer than specified deadline", false,
			"Job job failed: Job was active longer than specified deadline"},
	} {
		for _, audit := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, audit log %t", name, audit), func(t *testing.T) {
				s := newStory()
				s.write("job", ofKind("batch", "Job"), func(st *observation.State) {
					st.ObservedGeneration, st.Progress = -1, observation.ProgressInProgress
				})
				s.write("a", pod(""), controlled(kind.Job.Kind, "job"))
				s.write("a", bind)
				s.wait(time.Second)
				s.write("a", func(st *observation.State) {
					c := &st.Pod.Containers[0]
					c.State = &observation.ContainerState{Started: s.now()}
					if tc.crashed {
						c.Restarts = 1
						c.Last = &observation.ContainerState{Reason: "Error", ExitCode: 7, Finished: s.now()}
					}
				})
				s.wait(time.Second)
				s.write("a", func(st *observation.State) { st.Deleting = s.now() })
				if audit {
					s.audited("a", "delete", func(w *observation.Write) {
						w.User, w.Manager = cause.ControllerAccounts+"job-controller", change.Manager
					})
				}
				failing := observation.Condition{Type: "FailureTarget", Status: "True", Reason: tc.reason}
				s.write("job", func(st *observation.State) { st.Conditions = []observation.Condition{failing} })
				s.gone("a")
				s.write("job", func(st *observation.State) {
					failed := failing
					failed.Type = "Failed"
					st.Conditions = append(st.Conditions, failed)
					st.Progress, st.ProgressMessage = observation.ProgressFailed, tc.message
				})
				traces := observe(s.seen).Traces(s.now().Add(time.Minute))
				if len(traces) != 1 || traces[0].Reason != tc.want {
					t.Errorf("got %q in\n%s\nwant one trace with %q", traces[0].Reason, s.outline(t), tc.want)
				}
			})
		}
	}
}

// TestJobLastAttempt: the trace of a failed Job and its problem name the same Pod, the last one.
func TestJobLastAttempt(t *testing.T) {
	s := newStory()
	s.write("job", ofKind("batch", "Job"), func(st *observation.State) {
		st.ObservedGeneration, st.Progress = -1, observation.ProgressInProgress
	})
	for i, name := range []string{"a", "c", "b"} {
		s.write(name, pod(""), controlled(kind.Job.Kind, "job"))
		s.write(name, bind)
		s.wait(time.Minute)
		s.write(name, func(st *observation.State) {
			st.Pod.Phase = "Failed"
			st.Pod.Containers[0].State = &observation.ContainerState{
				Reason: "Error", ExitCode: int32(i + 1), Finished: s.now(),
			}
		})
	}
	s.write("job", func(st *observation.State) {
		st.Conditions = []observation.Condition{{Type: "Failed", Status: "True", Reason: "BackoffLimitExceeded"}}
		st.Progress, st.ProgressMessage = observation.ProgressFailed, "Job has reached the specified backoff limit"
	})
	e := observe(s.seen)
	const last = "Job job failed: Job has reached the specified backoff limit: " +
		"Pod b failed: container app exited with code 3"
	traces := e.Traces(s.now().Add(time.Minute))
	if len(traces) != 1 || traces[0].Reason != last {
		t.Errorf("got %q in\n%s\nwant one trace with %q", traces[0].Reason, s.outline(t), last)
	}
	if all := e.Problems(s.now()).Problems; len(all) != 1 || all[0].Reason != last {
		t.Errorf("got the problems %+v, want %q", all, last)
	}
}
