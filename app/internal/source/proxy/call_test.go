// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestClassify(t *testing.T) {
	gvr := func(group, version, resource string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Group: group, Version: version, Resource: resource}
	}
	deployments := gvr("apps", "v1", "deployments")
	pods := gvr("", "v1", "pods")
	cases := map[string]struct {
		reason      string
		method      string
		target      string
		contentType string
		want        call
	}{
		"Create": {
			"a create names no object",
			"POST",
			"/apis/apps/v1/namespaces/a/deployments",
			"",
			call{deployments, "a", "", "", "create", false, true},
		},
		"Update": {
			"",
			"PUT",
			"/apis/apps/v1/namespaces/a/deployments/web",
			"",
			call{deployments, "a", "web", "", "update", false, true},
		},
		"Patch": {
			"",
			"PATCH",
			"/apis/apps/v1/namespaces/a/deployments/web",
			"application/merge-patch+json",
			call{deployments, "a", "web", "", "patch", false, true},
		},
		"Apply": {
			"server-side apply is a patch by its type",
			"PATCH",
			"/apis/apps/v1/namespaces/a/deployments/web?fieldManager=k",
			"application/apply-patch+yaml",
			call{deployments, "a", "web", "", "apply", false, true},
		},
		"ApplyCBOR": {
			"apply in CBOR is a patch by its type too",
			"PATCH",
			"/apis/apps/v1/namespaces/a/deployments/web",
			"application/apply-patch+cbor",
			call{deployments, "a", "web", "", "apply", false, true},
		},
		"Scale": {
			"",
			"PATCH",
			"/apis/apps/v1/namespaces/a/deployments/web/scale",
			"application/merge-patch+json",
			call{deployments, "a", "web", "scale", "patch", false, true},
		},
		"Delete": {
			"",
			"DELETE",
			"/api/v1/namespaces/a/pods/p",
			"",
			call{pods, "a", "p", "", "delete", false, true},
		},
		"DeleteCollection": {
			"",
			"DELETE",
			"/api/v1/namespaces/a/pods",
			"",
			call{pods, "a", "", "", "deletecollection", false, true},
		},
		"Eviction": {
			"an eviction deletes the Pod",
			"POST",
			"/api/v1/namespaces/a/pods/p/eviction",
			"",
			call{pods, "a", "p", "eviction", "delete", false, true},
		},
		"Namespace": {
			"a Namespace is an object of cluster scope",
			"PUT",
			"/api/v1/namespaces/a",
			"",
			call{gvr("", "v1", "namespaces"), "", "a", "", "update", false, true},
		},
		"Finalize": {
			"a Namespace has its own subresources",
			"PUT",
			"/api/v1/namespaces/a/finalize",
			"",
			call{gvr("", "v1", "namespaces"), "", "a", "finalize", "update", false, true},
		},
		"ClusterScope": {
			"",
			"POST",
			"/apis/rbac.authorization.k8s.io/v1/clusterroles",
			"",
			call{gvr("rbac.authorization.k8s.io", "v1", "clusterroles"), "", "", "", "create", false, true},
		},
		"DryRun": {
			"a dry run stores nothing",
			"POST",
			"/api/v1/namespaces/a/pods?dryRun=All",
			"",
			call{pods, "a", "", "", "create", false, false},
		},
		"Review": {
			"a review stores nothing",
			"POST",
			"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
			"",
			call{gvr("authorization.k8s.io", "v1", "selfsubjectaccessreviews"), "", "", "", "create", false, false},
		},
		"Token": {
			"a token is not stored",
			"POST",
			"/api/v1/namespaces/a/serviceaccounts/d/token",
			"",
			call{gvr("", "v1", "serviceaccounts"), "a", "d", "token", "create", false, false},
		},
		"Exec": {
			"a connection stores nothing",
			"POST",
			"/api/v1/namespaces/a/pods/p/exec?command=ls",
			"",
			call{pods, "a", "p", "exec", "create", false, false},
		},
		"Proxy": {
			"a proxied request stores nothing with any method and path",
			"DELETE",
			"/api/v1/namespaces/a/services/s/proxy/x/y",
			"",
			call{gvr("", "v1", "services"), "a", "s", "proxy", "delete", false, false},
		},
		"Get": {"", "GET", "/api/v1/namespaces/a/pods/p", "", call{pods, "a", "p", "", "", true, false}},
		"Watch": {
			"versions are not learned from a watch",
			"GET",
			"/api/v1/namespaces/a/pods?watch=true",
			"",
			call{pods, "a", "", "", "", false, false},
		},
		"Discovery": {"", "GET", "/apis/apps/v1", "", call{}},
		"NoAPI":     {"", "POST", "/version", "", call{}},
		"Root":      {"", "GET", "/", "", call{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			u, err := url.Parse(tc.target)
			if err != nil {
				t.Fatal(err)
			}
			got := classify(tc.method, u.Path, u.Query(), http.Header{"Content-Type": {tc.contentType}})
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(call{})); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func FuzzClassify(f *testing.F) {
	f.Add("PATCH", "/apis/apps/v1/namespaces/a/deployments/web/scale")
	f.Add("DELETE", "//api//v1/")
	f.Fuzz(func(t *testing.T, method, path string) {
		c := classify(method, path, nil, nil)
		if c.write && (c.Resource == "" || c.Version == "") {
			t.Errorf("%s %q is a write without a resource or version: %+v", method, path, c)
		}
	})
}
