// SPDX-License-Identifier: Apache-2.0

package change

import (
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestEndsOperation: the controller of Argo CD removes the field operation after a sync (rule N2).
func TestEndsOperation(t *testing.T) {
	application := object.Kind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"}
	for name, tt := range map[string]struct {
		kind  object.Kind
		left  []observation.Leaf
		paths []string
		want  bool
	}{
		"removed": {kind: application, paths: []string{"operation.initiatedBy.username", "operation.sync"}, want: true},
		"changed": {
			kind: application, paths: []string{"operation.sync"}, left: []observation.Leaf{{Path: "operation.sync"}},
		},
		"removed with a change of the spec": {kind: application, paths: []string{"operation.sync", "spec.project"}},
		"nothing":                           {kind: application},
		"of another kind": {
			kind:  object.Kind{Group: "example.com", Version: "v1", Kind: "Application"},
			paths: []string{"operation.sync"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := &history.Version{Intent: &history.Intent{
				Ref: &object.Ref{Kind: tt.kind}, Fields: &history.Fields{Leaves: tt.left},
			}}
			if got := endsOperation(v, &history.Difference{Known: true, Paths: tt.paths}); got != tt.want {
				t.Errorf("endsOperation() = %t, want %t", got, tt.want)
			}
		})
	}
}
