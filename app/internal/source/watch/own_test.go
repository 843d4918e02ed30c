// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestOwnGroup: the traces are no source of traces, even if a relation names them.
func TestOwnGroup(t *testing.T) {
	changes := Offered{schema.GroupResource{Group: own, Resource: "changes"}, "Change", true}
	if got := Select([]Offered{changes}, nil, []schema.GroupKind{{Group: own, Kind: "Change"}}); len(got) != 0 {
		t.Errorf("watched: %v", got)
	}
}
