// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/kube-lifeline/lifeline/app/internal/jaeger"
)

// TestEndpoints compares the table with the paths of api and jaeger. A path without a row would have no right.
func TestEndpoints(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "api", "openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths map[string]any `json:"paths"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	want := slices.Collect(maps.Keys(document.Paths))
	want = append(want, "/api/v1/openapi.json", "/api/v1/runs") // the document leaves them out
	want = slices.AppendSeq(want, maps.Keys(jaeger.Handlers(jaeger.Options{})))
	var got []string
	for _, e := range Endpoints() {
		got = append(got, e.Path)
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the table of endpoints is not what api and jaeger serve: -want +got:\n%s", diff)
	}
}

func TestEndpointOf(t *testing.T) {
	for path, want := range map[string]string{
		"/api/v1/traces":                       "list ",
		"/api/v1/traces/0af7":                  "get document",
		"/api/v1/traces/0af7/spans/b7ad":       "get spans",
		"/api/v1/problems/stream":              "watch problems",
		"/api/v1/watch?view=summary":           "watch ",
		"/api/services/kubelet/operations":     "get groups",
		"/api/v1/openapi.json":                 " ",
		"/api/v1/nothing":                      "none",
		"/api/v1/traces/0af7/../../info":       "none",
		"/apis/lifeline.dev/v1alpha1/changes":  "none",
		"/assets/index.js":                     "none",
		"/api/v1/traces/0af7/spans/b7ad/extra": "none",
	} {
		got := "none"
		if e, ok := EndpointOf(httptest.NewRequest(http.MethodGet, path, nil)); ok {
			got = e.Verb + " " + e.Subresource
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}

// TestRights compares the table with the rules of the chart's ClusterRoles, and with discovery. -update rewrites the
// rules; then run make manifests.
func TestRights(t *testing.T) {
	path := filepath.Join("..", "..", "..", "deploy", "helm", "lifeline", "files", "changes.yaml")
	want := rules()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is stale: go test ./internal/kubeapi -run TestRights -update, and make manifests: -want +got:\n%s",
			path, diff)
	}
	var roles map[string][]rbacv1.PolicyRule
	if err := yaml.UnmarshalStrict(got, &roles); err != nil {
		t.Fatal(err)
	}
	allows := func(role, verb, resource string) bool {
		return slices.ContainsFunc(roles[role], func(r rbacv1.PolicyRule) bool {
			return slices.Equal(r.APIGroups, []string{Group}) && slices.Contains(r.Verbs, verb) &&
				slices.Contains(r.Resources, resource)
		})
	}
	offered := map[string]bool{}
	for _, r := range Resources().APIResources {
		for _, verb := range r.Verbs {
			offered[verb+" "+r.Name] = true
			role := "changes"
			if strings.HasPrefix(r.Name, VisibleResource) {
				role = "visibleChanges"
			}
			if !allows(role, verb, r.Name) {
				t.Errorf("discovery offers %s %s, and the role %s does not allow it", verb, r.Name, role)
			}
		}
	}
	for _, e := range Endpoints() {
		if e.Verb == "" || e.Verb == verbCreate { // to announce a command is no part of viewing
			continue
		}
		role := "changes"
		resource := strings.TrimSuffix(Resource+"/"+e.Subresource, "/")
		if !allows(role, e.Verb, resource) {
			t.Errorf("%s needs %s %s, and the role %s does not allow it", e.Path, e.Verb, resource, role)
		}
		// Streams of problems are a watch of no subresource: the API server ends all others after a minute.
		if !offered[e.Verb+" "+resource] && e.Path != "/api/v1/problems/stream" {
			t.Errorf("%s needs %s %s, and discovery does not offer it", e.Path, e.Verb, resource)
		}
	}
}

// rules are the rules of the roles, by role.
func rules() string {
	var out strings.Builder
	out.WriteString("# From the table of endpoints; go test ./internal/kubeapi -run TestRights -update writes them.\n")
	role := func(name, resource string, subresources []string) {
		fmt.Fprintf(&out, "%s:\n- apiGroups: [%q]\n  resources:\n  - %q\n", name, Group, resource)
		for _, s := range subresources {
			fmt.Fprintf(&out, "  - %q\n", resource+"/"+s)
		}
		fmt.Fprintf(&out, "  verbs: [%q, %q, %q]\n", verbGet, verbList, verbWatch)
	}
	role("changes", Resource, Subresources())
	role("visibleChanges", VisibleResource, VisibleSubresources())
	return out.String()
}
