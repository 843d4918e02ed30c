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
	slice := Offered{schema.GroupResource{Group: "discovery.k8s.io", Resource: "endpointslices"}, "EndpointSlice", true}
	pods := Offered{schema.GroupResource{Resource: "pods"}, "Pod", true}
	offered := []Offered{lease, slice, pods}
	related := []schema.GroupKind{{Group: "discovery.k8s.io", Kind: "EndpointSlice"}, {Kind: "Pod"}}
	cases := map[string]struct {
		reason  string
		exclude []schema.GroupResource
		related []schema.GroupKind
		want    []Offered
	}{
		"none":    {"the defaults", nil, nil, []Offered{pods}},
		"related": {"a relation precedes the defaults", nil, related, []Offered{pods, slice}},
		"group": {
			"the default excludes the group", nil, []schema.GroupKind{{Group: "coordination.k8s.io", Kind: "Lease"}},
			[]Offered{pods, lease},
		},
		"excluded": {
			"the user precedes a relation",
			[]schema.GroupResource{slice.GroupResource, {Resource: "pods"}},
			related,
			[]Offered{},
		},
		"excluded group": {
			"the user excludes the group",
			[]schema.GroupResource{{Group: "discovery.k8s.io"}},
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
