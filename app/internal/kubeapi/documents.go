// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"net/http"
	"strings"

	discovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Documents serves discovery and OpenAPI. It needs no server and no data. All else is not found.
func Documents() http.Handler {
	group := groupOf()
	found := map[string]func(*http.Request) (contentType string, body any){
		// Exactly this path, without a slash, is what the controller of namespaces reads before it deletes one.
		Root:             plain(Resources()),
		"/apis/" + Group: plain(group),
		"/apis":          groups(group),
		"/openapi/v2":    plain(openAPIV2()),
		"/openapi/v3": plain(map[string]any{"paths": map[string]any{
			strings.TrimPrefix(Root, "/"): map[string]string{
				"serverRelativeURL": "/openapi/v3" + Root + "?hash=" + hash(),
			},
		}}),
		"/openapi/v3" + Root: plain(openAPIV3()),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		document := found[strings.TrimSuffix(r.URL.Path, "/")]
		switch {
		case document == nil:
			WriteFailure(w, Failure(http.StatusNotFound, "the server could not find the requested resource"))
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", http.MethodGet)
			WriteFailure(w, Failure(http.StatusMethodNotAllowed, "%s can only be read", r.URL.Path))
		default:
			contentType, body := document(r)
			w.Header().Set("Vary", "Accept")
			w.Header().Set("ETag", `"`+hash()+`"`)
			write(w, http.StatusOK, contentType, body)
		}
	})
}

func plain(body any) func(*http.Request) (string, any) {
	return func(*http.Request) (string, any) { return jsonType, body }
}

// groups answers at /apis: with all resources for a client of aggregated discovery, and else with the groups.
func groups(group *metav1.APIGroup) func(*http.Request) (string, any) {
	const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	list := &metav1.APIGroupList{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{*group},
	}
	all := aggregatedOf(Resources())
	return func(r *http.Request) (string, any) {
		for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
			if strings.TrimSpace(part) == aggregated {
				return aggregated, all
			}
		}
		return jsonType, list
	}
}

// groupOf returns the discovery document of the group.
func groupOf() *metav1.APIGroup {
	version := metav1.GroupVersionForDiscovery{GroupVersion: GroupVersion, Version: Version}
	return &metav1.APIGroup{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: Group,
		Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version,
	}
}

// aggregatedOf returns the same in the form of aggregated discovery.
func aggregatedOf(of *metav1.APIResourceList) *discovery.APIGroupDiscoveryList {
	version := discovery.APIVersionDiscovery{Version: Version, Freshness: discovery.DiscoveryFreshnessCurrent}
	for _, r := range of.APIResources {
		responds := &metav1.GroupVersionKind{Group: Group, Version: Version, Kind: r.Kind}
		if _, sub, is := strings.Cut(r.Name, "/"); is {
			last := &version.Resources[len(version.Resources)-1] // a resource stands before its subresources
			last.Subresources = append(last.Subresources, discovery.APISubresourceDiscovery{
				Subresource: sub, ResponseKind: responds, Verbs: r.Verbs,
			})
			continue
		}
		scope := discovery.ScopeCluster
		if r.Namespaced {
			scope = discovery.ScopeNamespace
		}
		version.Resources = append(version.Resources, discovery.APIResourceDiscovery{
			Resource: r.Name, ResponseKind: responds, Scope: scope, SingularResource: r.SingularName, Verbs: r.Verbs,
		})
	}
	return &discovery.APIGroupDiscoveryList{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: "apidiscovery.k8s.io/v2"},
		Items: []discovery.APIGroupDiscovery{{
			ObjectMeta: metav1.ObjectMeta{Name: Group}, Versions: []discovery.APIVersionDiscovery{version},
		}},
	}
}
