// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestDesired(t *testing.T) {
	const head = `"metadata":{"uid":"u","resourceVersion":"1","labels":{"a":"b"}},`
	cases := map[string]struct {
		reason string
		object string
		path   []string
		value  any
		same   bool
	}{
		"Spec": {
			"the spec is desired state", `{"apiVersion":"x/v1","kind":"X",` + head + `"spec":{"n":1}}`,
			[]string{"spec", "n"}, int64(2), false,
		},
		"Type": {"a number is no string", `{"apiVersion":"x/v1","kind":"X",` + head + `"spec":{"n":1}}`, []string{
			"spec", "n",
		}, "1", false},
		"Label": {"selectors read labels", `{"apiVersion":"x/v1","kind":"X",` + head + `"spec":{}}`, []string{
			"metadata", "labels", "a",
		}, "c", false},
		"Annotation": {"annotations are not", `{"apiVersion":"x/v1","kind":"X",` + head + `"spec":{}}`, []string{
			"metadata", "annotations", "a",
		}, "c", true},
		"Version": {
			"the served version says nothing", `{"apiVersion":"x/v1","kind":"X",` + head + `"spec":{}}`,
			[]string{"apiVersion"}, "x/v2", true,
		},
		"Finalizer": {"finalizers are bookkeeping", `{"apiVersion":"x/v1","kind":"X",` + head + `"spec":{}}`, []string{
			"metadata", "finalizers",
		}, []any{"x"}, true},
		"Status": {
			"status is observed state", `{"apiVersion":"x/v1","kind":"X",` + head + `"spec":{},"status":{"n":1}}`,
			[]string{"status", "n"}, int64(2), true,
		},
		"Rules": {
			"some kinds have no spec",
			`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role",` + head + `"rules":[{"verbs":["get"]}]}`,
			[]string{"rules"}, []any{}, false,
		},
		"Bound": {
			"binding a Pod is not to change it", `{"apiVersion":"v1","kind":"Pod",` + head + `"spec":{"a":1}}`,
			[]string{"spec", "nodeName"}, "n", true,
		},
		"BoundLabel": {
			"nor are the labels that binding copies", `{"apiVersion":"v1","kind":"Pod",` + head + `"spec":{"a":1}}`,
			[]string{"metadata", "labels", "topology.kubernetes.io/zone"}, "z", true,
		},
		"Gate": {
			"removing a scheduling gate is",
			`{"apiVersion":"v1","kind":"Pod",` + head + `"spec":{"schedulingGates":[{"name":"g"}]}}`,
			[]string{"spec", "schedulingGates"}, []any{}, false,
		},
		"OtherKind": {
			"only of a Pod is nodeName the scheduler's",
			`{"apiVersion":"x/v1","kind":"X",` + head + `"spec":{"a":1}}`, []string{"spec", "nodeName"}, "n", false,
		},
		"Volume": {
			"a claim is bound by a controller",
			`{"apiVersion":"v1","kind":"PersistentVolumeClaim",` + head + `"spec":{"a":1}}`,
			[]string{"spec", "volumeName"}, "pv", true,
		},
		"Emptied": {
			"a part that only holds what was filled in counts as missing",
			`{"apiVersion":"v1","kind":"Namespace",` + head + `"spec":{"finalizers":["kubernetes"]}}`,
			[]string{"spec"}, nil, true,
		},
		"PodCIDR": {"a Node gets its addresses", `{"apiVersion":"v1","kind":"Node",` + head + `"spec":{}}`, []string{
			"spec", "podCIDR",
		}, "10.0.0.0/24", true},
		"NodeTaint": {
			"the node controller taints by condition", `{"apiVersion":"v1","kind":"Node",` + head + `"spec":{}}`,
			[]string{"spec", "taints"}, []any{map[string]any{"key": "node.kubernetes.io/not-ready"}}, true,
		},
		"Taint": {
			"anybody else's taint is a change", `{"apiVersion":"v1","kind":"Node",` + head + `"spec":{}}`,
			[]string{"spec", "taints"}, []any{map[string]any{"key": "dedicated"}}, false,
		},
		"Cordon": {"so is a cordon", `{"apiVersion":"v1","kind":"Node",` + head + `"spec":{}}`, []string{
			"spec", "unschedulable",
		}, true, false},
		"Token": {
			"a ServiceAccount gets its token",
			`{"apiVersion":"v1","kind":"ServiceAccount",` + head + `"automountServiceAccountToken":true}`,
			[]string{"secrets"}, []any{map[string]any{"name": "t"}}, true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			u := parse(t, tc.object)
			before := Normalize(u)
			if tc.value == nil {
				unstructured.RemoveNestedField(u.Object, tc.path...)
			} else if err := unstructured.SetNestedField(u.Object, tc.value, tc.path...); err != nil {
				t.Fatal(err)
			}
			if same := before.Desired == Normalize(u).Desired; same != tc.same {
				t.Errorf("%s: want same=%v, got %v", tc.reason, tc.same, same)
			}
		})
	}
}

// TestDigestIsStable fixes the digest: trace IDs derive from it, and all observers and releases
// must agree.
func TestDigestIsStable(t *testing.T) {
	u := parse(t, `{"apiVersion":"x/v1","kind":"X","metadata":{"uid":"u","resourceVersion":"1","labels":{"a":"b"}},
		"spec":{"s":"text","i":-7,"f":1.5,"b":true,"n":null,"l":[1,"x",{}],"o":{"z":1,"a":2}}}`)
	const want = 0x7bb6d188526132c
	if got := Normalize(u).Desired; got != want {
		t.Errorf("want %#x, got %#x", uint64(want), got)
	}
}
