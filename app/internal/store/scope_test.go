// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// TestPermits: the decision about one object.
func TestPermits(t *testing.T) {
	ref := func(group, kind, namespace string) object.Ref {
		out := spantest.Ref(group, kind, "x")
		out.Namespace = namespace
		return out
	}
	shop := store.Scope{Namespaces: []string{"shop", "x"}}
	guarded := store.Scope{Without: []store.Guarded{
		{Kind: "Secret", Except: []string{"shop"}}, {Group: "rbac.authorization.k8s.io", Kind: "Role"},
	}}
	for name, tc := range map[string]struct {
		scope  store.Scope
		object object.Ref
		want   bool
	}{
		"everything":                   {store.Scope{}, ref("", "Node", ""), true},
		"in the namespace":             {shop, ref("apps", "Deployment", "shop"), true},
		"elsewhere":                    {shop, ref("apps", "Deployment", "bank"), false},
		"in none":                      {shop, ref("", "Node", ""), false},
		"no object":                    {shop, object.Ref{}, false},
		"no object, everything":        {guarded, object.Ref{}, true},
		"no object, those of none":     {store.Scope{Namespaces: []string{""}}, object.Ref{}, true},
		"the Namespace itself":         {shop, ref("", "Namespace", ""), true},
		"another group's Namespace":    {shop, ref("example.com", "Namespace", ""), false},
		"nothing":                      {store.Scope{Namespaces: []string{}}, ref("", "Pod", "shop"), false},
		"guarded":                      {guarded, ref("", "Secret", "bank"), false},
		"guarded, with the right":      {guarded, ref("", "Secret", "shop"), true},
		"guarded everywhere":           {guarded, ref("rbac.authorization.k8s.io", "Role", "shop"), false},
		"another kind of the group":    {guarded, ref("rbac.authorization.k8s.io", "ClusterRole", ""), true},
		"that kind of another group":   {guarded, ref("iam.example.com", "Role", "shop"), true},
		"of a write, without a group":  {guarded, ref("", "Role", "shop"), false},
		"guarded, and another's group": {guarded, ref("example.com", "Secret", "bank"), true},
	} {
		if got := tc.scope.Permits(tc.object); got != tc.want {
			t.Errorf("%s: permitted %t", name, got)
		}
	}
}
