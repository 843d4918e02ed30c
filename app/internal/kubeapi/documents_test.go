// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// TestDiscovery: clients find the resources, by aggregated discovery and by the documents of each group.
func TestDiscovery(t *testing.T) {
	srv := httptest.NewServer(Documents())
	defer srv.Close()
	for name, legacy := range map[string]bool{"aggregated": false, "each": true} {
		client, err := discovery.NewDiscoveryClientForConfigAndClient(&rest.Config{Host: srv.URL}, srv.Client())
		if err != nil {
			t.Fatal(err)
		}
		client.UseLegacyDiscovery = legacy
		found, err := client.ServerResourcesForGroupVersion(GroupVersion)
		if !legacy {
			_, lists, e := client.ServerGroupsAndResources()
			if err = e; len(lists) == 1 {
				found = lists[0]
			}
		}
		if err != nil || found == nil {
			t.Fatalf("%s: %v, %v", name, found, err)
		}
		scopes := map[string]bool{}
		for _, r := range found.APIResources {
			scopes[r.Name] = r.Namespaced
		}
		if in, is := scopes[Resource]; !is || !in {
			t.Errorf("%s: %s is not there with a namespace: %v", name, Resource, scopes)
		}
		if in, is := scopes[VisibleResource]; !is || in {
			t.Errorf("%s: %s is not there without a namespace: %v", name, VisibleResource, scopes)
		}
		if _, is := scopes["changes/why"]; !is {
			t.Errorf("%s: there is no subresource: %v", name, scopes)
		}
	}
}

// TestDocuments: the deletion of a namespace waits for the exact path of the version.
func TestDocuments(t *testing.T) {
	for path, want := range map[string]int{
		Root: 200, Root + "/": 200, "/apis": 200, "/apis/" + Group: 200, "/openapi/v2": 200, "/openapi/v3": 200,
		"/openapi/v3" + Root: 200, "/api": 404, "/": 404, "/metrics": 404, Root + "/other": 404,
	} {
		out := httptest.NewRecorder()
		Documents().ServeHTTP(out, httptest.NewRequest(http.MethodGet, path, nil))
		if out.Code != want {
			t.Errorf("%s: %d, want %d", path, out.Code, want)
		}
	}
	out := httptest.NewRecorder()
	Documents().ServeHTTP(out, httptest.NewRequest(http.MethodPost, Root, nil))
	if out.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", out.Code)
	}
}

// TestMeanings: kubectl explain has a sentence for each field.
func TestMeanings(t *testing.T) {
	used := map[string]bool{}
	for name, schema := range schemas("") {
		var s struct {
			Description string
			Properties  map[string]struct{ Description string }
		}
		if err := json.Unmarshal(encode(schema), &s); err != nil {
			t.Fatal(err)
		}
		if s.Description == "" {
			t.Errorf("%s has no description", name)
		}
		for field, p := range s.Properties {
			if p.Description == "" {
				t.Errorf("%s.%s has no description", name, field)
			}
			used[p.Description] = true
		}
		used[s.Description] = true
	}
	for name, text := range meanings {
		if !used[text] {
			t.Errorf("the description of %s has no field", name)
		}
	}
}
