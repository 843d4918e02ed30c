// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// unprobed removes the readiness probe of a Pod's container, which begins to run.
func unprobed(st *observation.State) {
	st.Pod.Containers = []observation.Container{
		{
			Name: "app", Image: "registry/app:1",
			State: &observation.ContainerState{Started: written(st.ResourceVersion)},
		},
	}
}

// unavailable is the status of a workload that has lost its Pod.
func unavailable(st *observation.State) { st.Workload.Ready, st.Workload.Available = 0, 0 }

// phases are the lines of phases.
var phases = regexp.MustCompile(`(?m)^ +(start container|run container|backoff|readiness|condition|pull image) .*\n`)

// TestLastingStories: a version counts only if it lasts.
func TestLastingStories(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		tell   func(s *story)
		want   string
	}{
		"Each start ends after 5 seconds": {
			"a Deployment without a probe is available for a moment after each start",
			func(s *story) {
				s.write("web", deployment(1))
				s.write("web-1", replicaSet("web", 1))
				s.write("web-1-a", pod("web-1"), unprobed)
				s.write("web-1-a", bind)
				for n := range int32(4) {
					s.write("web-1-a", ready, unprobed, func(st *observation.State) {
						c := &st.Pod.Containers[0]
						if c.Restarts = n; n > 0 {
							c.Last = &observation.ContainerState{Started: epoch, Finished: epoch.Add(1), ExitCode: 3}
						}
					})
					s.write("web-1", arrived)
					s.write("web", arrived)
					s.wait(5 * time.Second)
					s.write("web-1-a", crash(n+1))
					s.write("web-1", unavailable)
					s.write("web", unavailable)
					s.wait(20 * time.Second)
				}
			},
			`
trace 0 failed: Deployment web does not stay available: ` +
				`Pod web-1-a is in a crash loop: container app exited with code 3, restarted 4 times
  reconcile Deployment web failed
    reconcile ReplicaSet web-1 unfinished (owner)
      reconcile Pod web-1-a unfinished (owner)
`,
		},
		"The third start lasts": {
			"a healing Pod is on its way during the back-off",
			func(s *story) {
				s.rollout()
				s.wait(time.Minute)
				s.before()
				s.write("web-1-a", deleting)
				s.gone("web-1-a")
				s.write("web-1-b", pod("web-1"), unprobed)
				s.write("web-1-b", bind)
				s.write("web-1-b", crash(1))
				s.wait(20 * time.Second)
				s.write("web-1-b", crash(2))
				s.wait(40 * time.Second)
				s.write("web-1-b", ready, again)
			},
			`
trace 0 deleted
  reconcile Pod web-1-a deleted
trace 1 converged
  reconcile Pod web-1-b converged ~heals
`,
		},
		"The controller observes first and reports a second later": {
			"the first version shows the old condition",
			func(s *story) {
				s.write("app", custom("Widget"), conditionReady("True"), arrived)
				s.wait(time.Minute)
				s.before()
				s.write("app", changed, by("user-a"))
				s.write("app", arrived)
				s.wait(time.Second)
				s.write("app", conditionReady("False"), func(st *observation.State) {
					st.Progress, st.ProgressMessage = observation.ProgressInProgress, "waiting for Ready"
				})
			},
			`
trace 0 unfinished: Widget app waits for Ready
  reconcile Widget app
`,
		},
		"A Deployment is created paused": {
			"it is held for as long as it is paused, and its Pods belong to the resumption",
			func(s *story) {
				s.write("web", deployment(1), by("user-a"), func(st *observation.State) { st.Workload.Paused = true })
				s.write("web", func(st *observation.State) { st.ObservedGeneration = st.Generation })
				s.wait(10 * time.Minute)
				s.write("web", valued("spec.paused", 2), by("user-b"), func(st *observation.State) {
					st.Workload.Paused = false
				})
				s.write("web-1", replicaSet("web", 1))
				s.write("web-1-a", pod("web-1"))
				s.write("web-1-a", bind)
				s.write("web-1-a", ready)
				s.write("web-1", arrived)
				s.write("web", arrived)
			},
			`
trace 0 converged
  reconcile Deployment web converged
trace 1 converged
  reconcile Deployment web converged ~previous
    reconcile ReplicaSet web-1 converged (owner)
      reconcile Pod web-1-a converged (owner)
`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			tc.tell(s)
			got := plain(observe(s.seen).Traces(s.now().Add(11 * time.Second)))
			got = phases.ReplaceAllString(got, "")
			if diff := cmp.Diff(strings.TrimPrefix(tc.want, "\n"), got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			inAnyOrder(t, s, outline)
		})
	}
}
