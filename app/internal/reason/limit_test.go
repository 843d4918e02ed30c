// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestByDefaults: a limit below the request is that of the Pod template, or the default of a LimitRange.
func TestByDefaults(t *testing.T) {
	const message = `Pod "web-1" is invalid: spec.containers[0].resources.requests: Invalid value: "500m": must be ` +
		`less ` +
		`than or equal to cpu limit of 200m, spec.containers[0].resources.requests: Invalid value: "256Mi": must be ` +
		`less than or equal to memory limit of 128Mi`
	leaf := func(path, value string) func(*observation.State) {
		return func(s *observation.State) { s.Leaves = append(s.Leaves, observation.Leaf{Path: path, Shown: value}) }
	}
	refused := version(kind.ReplicaSet.Kind, func(s *observation.State) {
		s.ObservedGeneration = 1
		s.Conditions = []observation.Condition{{Type: "ReplicaFailure", Status: "True", Message: message}}
	})
	limits := func(edits ...func(*observation.State)) []*history.Version {
		return []*history.Version{version(kind.LimitRange.Kind, edits...)}
	}
	cpu := leaf("spec.limits[type=Container].default.cpu", "200m")
	const plain = "cannot create its Pods: cpu limit 200m is below the request 500m, memory limit 128Mi is below the " +
		"request 256Mi"
	for name, tc := range map[string]struct {
		ranges   []*history.Version
		owner    *history.Version
		category Category
		want     string
	}{
		"no LimitRange": {nil, nil, Invalid, plain},
		"default": {limits(cpu), nil, LimitRange, "cannot create its Pods: the default cpu limit 200m of LimitRange " +
			"web is " +
			"below the request 500m, memory limit 128Mi is below the request 256Mi"},
		"another default": {limits(leaf("spec.limits[type=Container].default.cpu", "100m")), nil, Invalid, plain},
		"a default of requests": {
			limits(leaf("spec.limits[type=Container].defaultRequest.cpu", "200m")), nil, Invalid, plain,
		},
		"set by the Deployment": {
			limits(cpu), version(kind.Deployment.Kind,
				leaf("spec.template.spec.containers[name=app].resources.limits.cpu", "200m")),
			Invalid, plain,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := ByDefaults(refused, tc.owner, tc.ranges, Of(refused, nil))
			if got.Text != tc.want || got.Category != tc.category {
				t.Errorf("got %s: %q\nwant %s: %q", got.Category, got.Text, tc.category, tc.want)
			}
		})
	}
}
