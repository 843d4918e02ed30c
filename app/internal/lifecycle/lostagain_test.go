// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// TestLostAgain: a Pod that was ready for a while has the reason of its Deployment, which wants it to be ready for
// longer (minReadySeconds).
func TestLostAgain(t *testing.T) {
	killed := func(n int32) func(*observation.State) {
		return func(st *observation.State) {
			crash(n)(st)
			st.Pod.Containers[0].Last.Reason, st.Pod.Containers[0].Last.ExitCode = "OOMKilled", 137
		}
	}
	begun := func(s *story) {
		s.write("web", deployment(1))
		s.write("web-1", replicaSet("web", 1))
		s.write("web-1-a", pod("web-1"), unprobed)
		s.write("web-1-a", bind)
		waiting := func(st *observation.State) {
			st.ObservedGeneration, st.Progress = st.Generation, observation.ProgressInProgress
			st.Workload.Total, st.Workload.Updated = 1, 1
		}
		s.write("web-1", waiting)
		s.write("web", waiting)
		s.write("web-1-a", ready, unprobed)
		s.write("web-1", func(st *observation.State) { st.Workload.Ready = 1 })
	}
	const reason = "Pod web-1-a is in a crash loop: container app was killed: out of memory, restarted "
	for name, tc := range map[string]struct {
		reason string
		tell   func(*story)
		want   string
		why    string
	}{
		"after 5s": {"the Pod has not converged", func(s *story) {
			begun(s)
			s.wait(5 * time.Second)
			s.write("web-1-a", killed(1))
			s.write("web-1", unavailable)
		}, "out_of_memory", reason + "once"},
		"after 15s": {"the Pod has converged, and lost its state", func(s *story) {
			begun(s)
			s.wait(15 * time.Second)
			s.write("web-1-a", killed(1))
			s.write("web-1", unavailable)
		}, "out_of_memory", reason + "once"},
		"again": {"each run takes a while", func(s *story) {
			begun(s)
			for n := range int32(3) {
				s.wait(15 * time.Second)
				s.write("web-1-a", killed(n+1))
				s.write("web-1", unavailable)
				s.wait(time.Minute)
				if n < 2 {
					s.write("web-1-a", ready, again)
				}
			}
		}, "out_of_memory", reason + "3 times"},
		"deleted": {"the Pod that was deleted is not to blame", func(s *story) {
			begun(s)
			s.wait(15 * time.Second)
			s.write("web-1-a", killed(1))
			s.write("web-1-a", deleting)
			s.gone("web-1-a")
		}, "", "ReplicaSet web-1 has 0 of 1 replicas available"},
		"ready": {"the Pod runs, for less than it must", func(s *story) {
			begun(s)
			s.wait(15 * time.Second)
		}, "", "ReplicaSet web-1 has 0 of 1 replicas available"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			tc.tell(s)
			for how, traces := range map[string][]*span.Trace{
				"at once":    observe(s.seen).Traces(s.now().Add(time.Second)),
				"permuted":   observe(permuted(s.seen, 1)).Traces(s.now().Add(time.Second)),
				"with looks": lookedAt(s),
			} {
				root := traces[0].Root()
				got := []string{root.Object.Name, attributeText(root, span.KeyReason), traces[0].Reason}
				if diff := cmp.Diff([]string{"web", tc.want, tc.why}, got); diff != "" {
					t.Errorf("%s, %s: -want +got:\n%s", tc.reason, how, diff)
				}
			}
		})
	}
}

// lookedAt returns the open traces at the end of the story, after a look every second.
func lookedAt(s *story) []*span.Trace {
	e, at := New(Options{Cluster: "test"}), epoch
	for _, o := range s.seen {
		for ; at.Before(o.Seen); at = at.Add(time.Second) {
			e.Take(at)
		}
		e.Observe(o)
	}
	return e.Traces(s.now().Add(time.Second))
}
