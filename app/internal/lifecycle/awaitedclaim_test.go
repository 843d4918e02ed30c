// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestAwaitedClaim: a Pod has a link to the change of a claim that it waits for, whichever was made first.
func TestAwaitedClaim(t *testing.T) {
	claim := func(st *observation.State) {
		ofKind("", "PersistentVolumeClaim")(st)
		st.ObservedGeneration, st.Progress = -1, observation.ProgressInProgress
		st.Managers = []observation.Manager{{Name: "kubectl-create", Operation: "Update", Fields: 1}}
	}
	app := func(st *observation.State) {
		pod("")(st)
		st.Managers = []observation.Manager{{Name: "kubectl-create", Operation: "Update", Fields: 1}}
		st.Relations = []object.Relation{{Type: object.Claim, To: object.Name{
			Kind: "PersistentVolumeClaim", Namespace: "default", Name: "data",
		}}}
	}
	bound := func(st *observation.State) { st.Progress = observation.ProgressCurrent }
	start := func(s *story) {
		s.wait(10 * time.Second)
		s.write("data", bound)
		s.write("app", bind)
		s.write("app", ready)
	}
	tellStories(t, map[string]told{
		"ClaimFirst": {reason: "the claim waits for its first consumer", tell: func(s *story) {
			s.write("data", claim)
			s.wait(5 * time.Second)
			s.write("app", app)
			start(s)
		}, want: `trace 0 converged
  reconcile PersistentVolumeClaim data converged
trace 1 converged
  reconcile Pod app converged ~claim
`, links: []string{"Pod app of 1: claim PersistentVolumeClaim data of 0"}},
		"PodFirst": {reason: "the Pod waits for a claim that does not exist", tell: func(s *story) {
			s.write("app", app)
			s.wait(5 * time.Second)
			s.write("data", claim)
			start(s)
		}, want: `trace 0 converged
  reconcile Pod app converged ~claim
trace 1 converged
  reconcile PersistentVolumeClaim data converged
`, links: []string{"Pod app of 0: claim PersistentVolumeClaim data of 1"}},
		"Bound": {reason: "the Pod does not wait", tell: func(s *story) {
			s.write("data", claim)
			s.write("data", bound)
			s.wait(5 * time.Second)
			s.write("app", app)
			s.write("app", bind)
			s.write("app", ready)
		}, want: `trace 0 converged
  reconcile PersistentVolumeClaim data converged
trace 1 converged
  reconcile Pod app converged
`},
	})
}
