// SPDX-License-Identifier: Apache-2.0

package ending

import (
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestConfirmed: an object without Pods must keep its desired state for 2 s.
func TestConfirmed(t *testing.T) {
	observed := func(s *observation.State) { s.ObservedGeneration = s.Generation }
	working := func(s *observation.State) { s.Progress = observation.ProgressInProgress }
	flips := func(w *world) *change.Reconciliation {
		w.put(&widget, "app", 10, observed, condition("Ready", "True", "", ""), current)
		w.put(&widget, "app", 11, observed, condition("Ready", "False", "", ""), working)
		return begin(w.put(&widget, "app", 20, observed, condition("Ready", "True", "", ""), current), 10)
	}
	keeps := func(w *world) *change.Reconciliation {
		return begin(w.put(&widget, "app", 10, observed, condition("Ready", "True", "", ""), current), 10)
	}
	testRule(t, byConvergence, map[string]ruling{
		"soon":      {"the status may follow", 12, keeps, "open"},
		"kept":      {"it lasted", 13, keeps, "converged at 10s by watch"},
		"withdrawn": {"the first version was the old status", 30, flips, "converged at 20s by watch"},
	})
}

// TestLasting: a workload has converged with the first version whose ready Pods stayed ready.
func TestLasting(t *testing.T) {
	// crashing is a Deployment with one Pod. The Pod exits 5 s after its first start, and then runs.
	crashing := func(w *world) *change.Reconciliation {
		w.put(&kind.Deployment, "web", 10, by("kubectl"), replicas(1))
		r := begin(w.put(&kind.Deployment, "web", 14, current), 10)
		w.put(&kind.Pod, "web-a", 11, pod)
		w.put(&kind.Pod, "web-a", 13, ready, container(0, running(13), nil))
		w.put(&kind.Pod, "web-a", 18, condition("Ready", "False", "", ""), container(0, exited(18), nil))
		w.put(&kind.Deployment, "web", 19, func(s *observation.State) { s.Workload.Available = 0 })
		p := w.put(&kind.Pod, "web-a", 30, condition("Ready", "True", "", ""), container(1, running(29), exited(18)))
		w.put(&kind.Deployment, "web", 31, current)
		below(r, begin(p, 11))
		return r
	}
	testRule(t, byConvergence, map[string]ruling{
		"crashed": {"the first Pod did not stay ready, and the second start is fresh", 32, crashing, "open"},
		"steady":  {"the second start lasted", 42, crashing, "converged at 31s by watch"},
	})
}
