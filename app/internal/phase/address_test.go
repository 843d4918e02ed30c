// SPDX-License-Identifier: Apache-2.0

package phase

import (
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestAddress: a Service or an Ingress waits for its load balancer.
func TestAddress(t *testing.T) {
	served := func(s *observation.State) { s.Progress = observation.ProgressCurrent }
	testPhases(t, map[string]phased{
		"waiting": {"there is no address", func(w *world) *change.Reconciliation {
			return w.object(&kind.Service, "web").put(10).begin(10)
		}, []string{"assign address 10-"}},
		"assigned": {"the address is there", func(w *world) *change.Reconciliation {
			return w.object(&kind.Service, "web").put(10).put(14, served).begin(10)
		}, []string{"assign address 10-14"}},
		"Ingress": {"an Ingress has an address, too", func(w *world) *change.Reconciliation {
			return w.object(&kind.Ingress, "web").put(10).put(14, served).begin(10)
		}, []string{"assign address 10-14"}},
		"none needed": {"the Service needs no load balancer", func(w *world) *change.Reconciliation {
			return w.object(&kind.Service, "web").put(10, served).begin(10)
		}, nil},
		"other kind": {"the kind has no address", func(w *world) *change.Reconciliation {
			return w.object(&kind.PersistentVolumeClaim, "web").put(10).put(14, served).begin(10)
		}, nil},
		"ended": {"the change ended without an address", func(w *world) *change.Reconciliation {
			return done(w.object(&kind.Service, "web").put(10).begin(10), 14)
		}, nil},
		"replaced": {"the address is that of another change", func(w *world) *change.Reconciliation {
			r := w.object(&kind.Service, "web").put(10).put(14, served).begin(10)
			r.Superseded = &change.Write{RV: 13}
			return done(r, 13)
		}, nil},
		"deletion": {"a deletion waits for no address", func(w *world) *change.Reconciliation {
			r := w.object(&kind.Service, "web").put(10).begin(10)
			r.Verb = history.Deleted
			return r
		}, nil},
		"request only": {"no version shows what it needs", func(w *world) *change.Reconciliation {
			r := w.object(&kind.Service, "web").put(10).begin(10)
			r.First().Version = nil
			return r
		}, nil},
		"condition": {"its conditions have steps of their own", func(w *world) *change.Reconciliation {
			return w.object(&kind.Service, "web").put(10).put(12, condition("Ready", "False", 12)).begin(10)
		}, []string{"condition Ready 10-", "assign address 10-"}},
	})
	w := newWorld()
	s := w.object(&kind.Service, "web").put(10).put(14, served, by("cloud-controller-manager"))
	if p := w.Of(s.begin(10))[0]; p.service != "cloud-controller-manager" {
		t.Errorf("got a step of %s, want the writer of the status", p.service)
	}
}
