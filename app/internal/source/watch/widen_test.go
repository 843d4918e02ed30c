// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// watchedPaths returns the paths listed on the fake API server.
func watchedPaths(t *testing.T, f *fakeAPI) []string {
	t.Helper()
	var paths []string
	for _, request := range f.asked("limit=") {
		u, err := url.Parse(request)
		if err != nil {
			t.Fatal(err)
		}
		path := u.Path
		if strings.HasSuffix(path, "/apiservices") {
			continue // see findStorage
		}
		if name := u.Query().Get("fieldSelector"); name != "" {
			path += " " + name
		}
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

func TestWidening(t *testing.T) {
	const inNamespace = "/namespaces/default/"
	heads := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "heads"}
	cases := map[string]struct {
		reason    string
		follow    schema.GroupVersionResource
		namespace string
		happen    func(f *fakeAPI)
		last      string
		want      []string
	}{
		"Deployment": {
			reason:    "a Deployment has effects on ReplicaSets, Pods and Events in its namespace",
			follow:    kind.Deployment.GroupVersionResource(),
			namespace: "default",
			want: []string{
				"/api/v1" + inNamespace + "pods", "/apis/apps/v1" + inNamespace + "deployments",
				"/apis/apps/v1" + inNamespace + "replicasets", "/apis/events.k8s.io/v1" + inNamespace + "events",
			},
		},
		"Secret": {
			reason: "a Secret has no effects", follow: schema.GroupVersionResource{
				Version: "v1", Resource: "secrets",
			}, namespace: "default",
			want: []string{"/api/v1" + inNamespace + "secrets", "/apis/events.k8s.io/v1" + inNamespace + "events"},
		},
		"Node": {
			reason: "Events of cluster-scoped objects are in default", follow: nodes,
			want: []string{"/api/v1/nodes", "/apis/events.k8s.io/v1" + inNamespace + "events"},
		},
		"Custom": {
			reason: "an unknown kind may affect anything in its namespace", follow: heads,
			namespace: "default",
			want: []string{
				"/api/v1" + inNamespace + "pods", "/api/v1" + inNamespace + "secrets",
				"/apis/apps/v1" + inNamespace + "deployments", "/apis/apps/v1" + inNamespace + "replicasets",
				"/apis/events.k8s.io/v1" + inNamespace + "events", "/apis/example.com/v1" + inNamespace + "heads",
			},
		},
		"Owner": {
			reason: "an owner is watched, and its effects too", follow: pods, namespace: "default",
			happen: func(f *fakeAPI) {
				f.put(podsPath, "default", "p", "ownerReferences", []any{map[string]any{
					"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "r", "controller": true,
				}})
				f.put(replicaSetsPath, "default", "r", "ownerReferences", []any{map[string]any{
					"apiVersion": "example.com/v1", "kind": "Brain", "name": "b", "uid": "b", "controller": true,
				}})
				f.put("/apis/example.com/v1/brains", "", "b")
			},
			last: "Brain/b 103",
			want: []string{
				"/api/v1" + inNamespace + "pods", "/apis/apps/v1" + inNamespace + "replicasets",
				"/apis/events.k8s.io/v1" + inNamespace + "events",
				"/apis/example.com/v1/brains",
			},
		},
		"Bound": {
			reason: "for a bound Pod only its Node is watched", follow: pods, namespace: "default",
			happen: func(f *fakeAPI) {
				f.put(nodesPath, "", "other")
				f.put(podsPath, "default", "p", "spec", map[string]any{"nodeName": "n1"})
				f.put(nodesPath, "", "n1")
			},
			last: "Node/n1 103",
			want: []string{
				"/api/v1" + inNamespace + "pods", "/api/v1/nodes metadata.name=n1",
				"/apis/events.k8s.io/v1" + inNamespace + "events",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := newFakeAPI(t)
			f.with(func() {
				f.kinds["example.com/v1"] = []kindOffered{{"heads", "Head", true}, {"brains", "Brain", false}}
			})
			wd := watching(t, f)
			wd.Follow(t.Context(), tc.follow, tc.namespace, 100)
			if tc.happen != nil {
				tc.happen(f)
				wd.awaitLine(tc.last)
			}
			wd.sync()
			if diff := cmp.Diff(tc.want, watchedPaths(t, f)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			for _, request := range f.asked("limit=") {
				if !strings.Contains(request, "resourceVersion=100") && !strings.Contains(request, "limit=1") {
					t.Errorf("all watches must start at the write, but got %s", request)
				}
			}
		})
	}
}

func TestManyNodesAreWatchedTogether(t *testing.T) {
	f := newFakeAPI(t)
	wd := watching(t, f)
	wd.Follow(t.Context(), pods, "default", 100)
	for i := range maxNamedNodes + 10 {
		f.put(
			podsPath, "default", "p"+string(rune('A'+i)), "spec", map[string]any{"nodeName": "n" + string(rune('A'+i))},
		)
	}
	f.put(nodesPath, "", "last")
	wd.awaitLine("Node/last 161")
	wd.sync()
	named := len(f.asked("nodes", "fieldSelector", "limit="))
	if named != maxNamedNodes {
		t.Errorf("want %d Nodes read by name, got %d", maxNamedNodes, named)
	}
}

func TestScopeOfSomeResources(t *testing.T) {
	f := newFakeAPI(t)
	f.put(deploymentsPath, "a", "d")
	f.put(podsPath, "b", "p")
	f.put(eventsPath, "b", "e", "reason", "Started")
	f.put(secretsPath, "b", "s")
	wd := watching(t, f)
	if err := wd.Watch(
		t.Context(), Scope{Resources: []schema.GroupResource{{Group: "apps", Resource: "deployments"}}},
	); err != nil {
		t.Fatal(err)
	}
	wd.sync()
	wd.want("the named resource, its effects and Events, in all namespaces",
		"baseline Deployment/d 101", "baseline Pod/p 102", "baseline event Started 103")
}

// TestNamespacesThatGo: a deleted Namespace is remembered only until it is gone, because others
// follow while the watcher runs.
func TestNamespacesThatGo(t *testing.T) {
	w, err := New(Config{REST: &rest.Config{Host: "http://127.0.0.1:1"}, Emit: func(*observation.Observation) {}})
	if err != nil {
		t.Fatal(err)
	}
	w.Close() // without any request
	from := &edges{of: plan{resource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}}}
	ref := object.Ref{Kind: object.Kind{Version: "v1", Kind: "Namespace"}, Name: "brief", UID: "u"}
	w.explorer.follow(t.Context(), from, &observation.Observation{
		State: &observation.State{Ref: ref, Deleting: time.Unix(1, 0)},
	})
	if !from.emptied["brief"] {
		t.Fatal("a deleted Namespace is not remembered")
	}
	w.explorer.follow(t.Context(), from, &observation.Observation{Gone: &observation.Gone{Ref: ref}})
	if len(from.emptied) != 0 {
		t.Errorf("removed Namespaces are still remembered: %v", from.emptied)
	}
}
