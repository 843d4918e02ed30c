// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestSelectRelated: a kind of a declared relation is watched, unless the user excludes it.
func TestSelectRelated(t *testing.T) {
	lease := Offered{schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}, "Lease", true}
	capacities := schema.GroupResource{Group: "storage.k8s.io", Resource: "csistoragecapacities"}
	capacity := Offered{capacities, "CSIStorageCapacity", true}
	pods := Offered{schema.GroupResource{Resource: "pods"}, "Pod", true}
	slice := Offered{schema.GroupResource{Group: "discovery.k8s.io", Resource: "endpointslices"}, "EndpointSlice", true}
	offered := []Offered{lease, capacity, slice, pods}
	related := []schema.GroupKind{{Group: "storage.k8s.io", Kind: "CSIStorageCapacity"}, {Kind: "Pod"}}
	cases := map[string]struct {
		reason  string
		exclude []schema.GroupResource
		related []schema.GroupKind
		want    []Offered
	}{
		"none":    {"the defaults", nil, nil, []Offered{pods, slice}},
		"related": {"a relation precedes the defaults", nil, related, []Offered{pods, slice, capacity}},
		"group": {
			"the default excludes the group", nil, []schema.GroupKind{{Group: "coordination.k8s.io", Kind: "Lease"}},
			[]Offered{pods, lease, slice},
		},
		"excluded": {
			"the user precedes a relation",
			[]schema.GroupResource{capacities, {Resource: "pods"}},
			related,
			[]Offered{slice},
		},
		"excluded group": {
			"the user excludes the group",
			[]schema.GroupResource{{Group: "storage.k8s.io"}, slice.GroupResource},
			related,
			[]Offered{pods},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Select(offered, tc.exclude, tc.related)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
