// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestRewritten: a failing pull of another image than that of the template names the change by admission.
func TestRewritten(t *testing.T) {
	pod := version(kind.Pod.Kind, func(s *observation.State) {
		s.Pod = &observation.Pod{Node: "n", Phase: "Pending", Containers: []observation.Container{{
			Name: "app", Image: "mirror.example/blog:1",
			State: &observation.ContainerState{Waiting: true, Reason: "ErrImagePull", Message: "not found"},
		}}}
	})
	owner := func(k object.Kind, image string, edits ...func(*observation.State)) *history.Version {
		return version(k, append(edits, func(s *observation.State) {
			s.Leaves = []observation.Leaf{{Path: "spec.template.spec.containers[name=app].image", Shown: image}}
		})...)
	}
	rolling := func(updated int32) func(*observation.State) {
		return func(s *observation.State) {
			s.ObservedGeneration = 1
			s.Workload = &observation.Workload{Replicas: 2, Total: 2, Updated: updated}
		}
	}
	const plain = "cannot pull image mirror.example/blog:1 of container app: not found"
	const changed = plain + "; admission changed its image from blog:1"
	for name, tc := range map[string]struct {
		owner *history.Version
		by    []string
		want  string
	}{
		"alone":               {nil, nil, plain},
		"the same image":      {owner(kind.ReplicaSet.Kind, "mirror.example/blog:1"), []string{"Policy a"}, plain},
		"ReplicaSet":          {owner(kind.ReplicaSet.Kind, "blog:1"), nil, changed},
		"policy":              {owner(kind.ReplicaSet.Kind, "blog:1"), []string{"Policy a"}, changed + " (Policy a)"},
		"policies":            {owner(kind.Job.Kind, "blog:1"), []string{"A a", "B b"}, changed + " (A a or B b)"},
		"Job":                 {owner(kind.Job.Kind, "blog:1"), nil, changed},
		"StatefulSet":         {owner(kind.StatefulSet.Kind, "blog:1", rolling(2)), nil, changed},
		"rolling StatefulSet": {owner(kind.StatefulSet.Kind, "blog:1", rolling(1)), nil, plain},
		"unknown kind":        {owner(object.Kind{Group: "example.com", Kind: "App"}, "blog:1"), nil, plain},
		"no image":            {version(kind.ReplicaSet.Kind), nil, plain},
	} {
		t.Run(name, func(t *testing.T) {
			by := func() []string { return tc.by }
			if got := Rewritten(pod, tc.owner, Of(pod, nil), by).Text; got != tc.want {
				t.Errorf("got  %q\nwant %q", got, tc.want)
			}
		})
	}
}
