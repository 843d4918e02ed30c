// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestCorrectedConfig: a component of Kubernetes brings back the content of a ConfigMap without an owner. That is a
// change, with a link to the change that it undoes. Its other writes are none.
func TestCorrectedConfig(t *testing.T) {
	by := func(manager string) func(*observation.State) {
		return func(st *observation.State) {
			content(st)
			st.Managers = []observation.Manager{{Name: manager, Operation: "Update", Fields: 1}}
		}
	}
	const controller = "kube-controller-manager"
	tellStories(t, map[string]told{
		"Corrected": {reason: "a person has changed the certificates", tell: func(s *story) {
			s.write("ca", by("kubectl-create"))
			s.wait(time.Minute)
			s.write("ca", by("kubectl-edit"))
			s.wait(time.Minute)
			s.write("ca", by(controller))
		}, want: `trace 0 converged
  reconcile ConfigMap ca converged
trace 1 converged
  reconcile ConfigMap ca converged
trace 2 converged
  reconcile ConfigMap ca converged ~previous
`, links: []string{"ConfigMap ca of 2: previous ConfigMap ca of 1"}},
		"Own": {reason: "nobody else has changed the object", tell: func(s *story) {
			s.write("ca", by("kubectl-create"))
			s.wait(time.Minute)
			s.write("ca", by(controller))
			s.wait(time.Minute)
			s.write("ca", by(controller))
		}, want: `trace 0 converged
  reconcile ConfigMap ca converged
`},
	})
}
