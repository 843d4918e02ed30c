// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestTarget(t *testing.T) {
	kinds := meta.NewDefaultRESTMapper(nil)
	kinds.Add(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, meta.RESTScopeNamespace)
	kinds.Add(schema.GroupVersionKind{Group: "example.com", Version: "v2", Kind: "Head"}, meta.RESTScopeRoot)
	asked := func() (meta.RESTMapper, error) { return kinds, nil }
	down := func() (meta.RESTMapper, error) { return nil, errors.New("the cluster is down") }
	deployment := Target{Kind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Name: "web", Namespaced: true}
	served := deployment
	served.Resource = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	head := Target{
		Resource: schema.GroupVersionResource{Group: "example.com", Version: "v2", Resource: "heads"},
		Kind:     schema.GroupKind{Group: "example.com", Kind: "Head"}, Name: "h",
	}
	core := func(kind, name string, namespaced bool) Target {
		return Target{Kind: schema.GroupKind{Kind: kind}, Name: name, Namespaced: namespaced}
	}
	cases := map[string]struct {
		reason string
		mapper Mapper
		arg    string
		strict bool
		want   Target
		err    string
	}{
		"Asked":   {"what the cluster says", asked, "deployment/web", true, served, ""},
		"Plural":  {"", asked, "Deployments/web", true, served, ""},
		"Group":   {"", asked, "head.example.com/h", true, head, ""},
		"Version": {"", asked, "heads.v2.example.com/h", true, head, ""},
		"Unknown": {"strictly", asked, "pod/p", true, Target{}, `the cluster has no kind or resource "pod"`},
		"Gone": {"a kind that the cluster has no more", asked, "Tail.example.com/t", false, Target{
			Kind: schema.GroupKind{Group: "example.com", Kind: "Tail"}, Name: "t", Namespaced: true,
		}, ""},
		"Down":      {"", down, "deployment/web", true, Target{}, "the cluster is down"},
		"BuiltIn":   {"", down, "deploy/web", false, deployment, ""},
		"Qualified": {"", nil, "deployments.apps/web", false, deployment, ""},
		"Other": {
			"another group's", nil, "deployments.example.com/web", false, Target{},
			"there is no cluster to ask for its kinds",
		},
		"Ingress": {"", nil, "ingresses/i", false, Target{
			Kind: schema.GroupKind{Group: "networking.k8s.io", Kind: "Ingress"}, Name: "i", Namespaced: true,
		}, ""},
		"Policy": {"", nil, "networkpolicies/p", false, Target{
			Kind: schema.GroupKind{Group: "networking.k8s.io", Kind: "NetworkPolicy"}, Name: "p", Namespaced: true,
		}, ""},
		"Short":   {"", nil, "pvc/data", false, core("PersistentVolumeClaim", "data", true), ""},
		"Cluster": {"of no namespace", nil, "no/n1", false, core("Node", "n1", false), ""},
		"NoShort": {"", nil, "s/x", false, Target{}, "there is no cluster to ask for its kinds"},
		"Form":    {"", nil, "web", false, Target{}, `"web" is not KIND/NAME`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := (&Options{Mapper: tc.mapper}).Target(tc.arg, tc.strict)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if (err != nil) != (tc.err != "") || err != nil && err.Error() != tc.err {
				t.Errorf("%s: error %v, want %q", tc.reason, err, tc.err)
			}
		})
	}
}

func TestTargetRef(t *testing.T) {
	node := Target{Kind: schema.GroupKind{Kind: "Node"}, Name: "n1"}
	if got := node.Ref("shop").String(); got != "Node n1" {
		t.Errorf("got %q: a Node is in no namespace", got)
	}
}
