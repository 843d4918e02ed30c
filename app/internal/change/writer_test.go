// SPDX-License-Identifier: Apache-2.0

package change

import (
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

func TestWriterOfScale(t *testing.T) {
	applied := &observation.Manager{Name: "kubectl-client-side-apply", Fields: 1}
	scale := &observation.Manager{Name: "kubectl", Subresource: "scale", Fields: 2}
	autoscaler := &observation.Manager{Name: "kube-controller-manager", Subresource: "scale", Fields: 2}
	at := func(replicas int32, managers ...*observation.Manager) *history.Version {
		return &history.Version{
			Intent: &history.Intent{}, Managers: managers,
			Status: &history.Status{Workload: &observation.Workload{Replicas: replicas}},
		}
	}
	cases := map[string]struct {
		reason string
		u, v   *history.Version
		want   string
	}{
		"First": {"a new entry", at(1, applied), at(3, applied, scale), "kubectl"},
		"Again": {"the entry has no time and stays the same", at(3, applied, scale), at(2, applied, scale), "kubectl"},
		"Other": {
			"an autoscaler after kubectl", at(3, applied, scale), at(2, applied, autoscaler), "kube-controller-manager",
		},
		"Same":    {"the replicas stayed", at(3, applied, scale), at(3, applied, scale), ""},
		"Several": {"two entries are ambiguous", at(3, scale, autoscaler), at(2, scale, autoscaler), ""},
		"None":    {"no scaling", at(3, applied), at(2, applied), ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Writer(tc.u, tc.v, true); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
