// SPDX-License-Identifier: Apache-2.0

package normalize

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
		"Type": {
			"a number differs from a string", `{"apiVersion":"x/v1","kind":"X",` + head + `"spec":{"n":1}}`,
			[]string{"spec", "n"}, "1", false,
		},
		"Label": {"selectors read labels", `{"apiVersion":"x/v1","kind":"X",` + head + `"spec":{}}`, []string{
			"metadata", "labels", "a",
		}, "c", false},
		"Annotation": {
			"annotations are not desired state", `{"apiVersion":"x/v1","kind":"X",` + head + `"spec":{}}`,
			[]string{"metadata", "annotations", "a"}, "c", true,
		},
		"Version": {
			"the served version does not count", `{"apiVersion":"x/v1","kind":"X",` + head + `"spec":{}}`,
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
			"binding does not change a Pod's desired state",
			`{"apiVersion":"v1","kind":"Pod",` + head + `"spec":{"a":1}}`,
			[]string{"spec", "nodeName"}, "n", true,
		},
		"BoundLabel": {
			"labels copied by binding do not count", `{"apiVersion":"v1","kind":"Pod",` + head + `"spec":{"a":1}}`,
			[]string{"metadata", "labels", "topology.kubernetes.io/zone"}, "z", true,
		},
		"Gate": {
			"removing a scheduling gate is a change",
			`{"apiVersion":"v1","kind":"Pod",` + head + `"spec":{"schedulingGates":[{"name":"g"}]}}`,
			[]string{"spec", "schedulingGates"}, []any{}, false,
		},
		"OtherKind": {
			"only in a Pod the scheduler sets nodeName",
			`{"apiVersion":"x/v1","kind":"X",` + head + `"spec":{"a":1}}`, []string{"spec", "nodeName"}, "n", false,
		},
		"Volume": {
			"a controller sets volumeName",
			`{"apiVersion":"v1","kind":"PersistentVolumeClaim",` + head + `"spec":{"a":1}}`,
			[]string{"spec", "volumeName"}, "pv", true,
		},
		"Emptied": {
			"a part with only filled-in fields counts as missing",
			`{"apiVersion":"v1","kind":"Namespace",` + head + `"spec":{"finalizers":["kubernetes"]}}`,
			[]string{"spec"}, nil, true,
		},
		"PodCIDR": {"a controller sets podCIDR", `{"apiVersion":"v1","kind":"Node",` + head + `"spec":{}}`, []string{
			"spec", "podCIDR",
		}, "10.0.0.0/24", true},
		"NodeTaint": {
			"the node controller's taints do not count", `{"apiVersion":"v1","kind":"Node",` + head + `"spec":{}}`,
			[]string{"spec", "taints"}, []any{
				map[string]any{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"},
			}, true,
		},
		"OutOfService": {
			"a person takes a Node out of service", `{"apiVersion":"v1","kind":"Node",` + head + `"spec":{}}`,
			[]string{"spec", "taints"}, []any{
				map[string]any{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"},
			}, false,
		},
		"Taint": {
			"another taint is a change", `{"apiVersion":"v1","kind":"Node",` + head + `"spec":{}}`,
			[]string{"spec", "taints"}, []any{map[string]any{"key": "dedicated"}}, false,
		},
		"Cordon": {"a cordon is a change", `{"apiVersion":"v1","kind":"Node",` + head + `"spec":{}}`, []string{
			"spec", "unschedulable",
		}, true, false},
		"Token": {
			"a controller sets the token of a ServiceAccount",
			`{"apiVersion":"v1","kind":"ServiceAccount",` + head + `"automountServiceAccountToken":true}`,
			[]string{"secrets"}, []any{map[string]any{"name": "t"}}, true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			u := parse(t, tc.object)
			before := normalizer.Object(u)
			if tc.value == nil {
				unstructured.RemoveNestedField(u.Object, tc.path...)
			} else if err := unstructured.SetNestedField(u.Object, tc.value, tc.path...); err != nil {
				t.Fatal(err)
			}
			if same := before.Desired == normalizer.Object(u).Desired; same != tc.same {
				t.Errorf("%s: want same=%v, got %v", tc.reason, tc.same, same)
			}
		})
	}
}

// TestDigestIsStable fixes the digest: after an upgrade, a server compares stored digests with new
// ones.
func TestDigestIsStable(t *testing.T) {
	u := parse(t, `{"apiVersion":"x/v1","kind":"X","metadata":{"uid":"u","resourceVersion":"1","labels":{"a":"b"}},
		"spec":{"s":"text","i":-7,"f":1.5,"b":true,"n":null,"l":[1,"x",{}],"o":{"z":1,"a":2}}}`)
	const want = 0x62f82b5966a19503
	if got := normalizer.Object(u).Desired; got != want {
		t.Errorf("want %#x, got %#x", uint64(want), got)
	}
}
