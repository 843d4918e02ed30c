// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Endpoint is a path of the API, and the right that it needs. The right is one to the resource changes of the
// group lifeline.dev.
type Endpoint struct {
	// Path is the path at the server, as a pattern of http.ServeMux: "/api/v1/traces/{traceID}/why".
	Path string
	// Verb and Subresource are those of the right. Without a verb, each known caller has the right. Without a
	// subresource, the right is one to the changes themselves.
	Verb, Subresource string
}

// The verbs of rights.
const (
	verbGet    = "get"
	verbList   = "list"
	verbWatch  = "watch"
	verbCreate = "create"
)

// document is the subresource for the whole trace in a format.
const document = "document"

// apiRoot begins the paths of our own API.
const apiRoot = "/api/v1/"

// noName stands for the name of a change in the paths of subresources of no single change.
const noName = "-"

// endpoints are all paths of a server, in the order of the documentation.
var endpoints = []Endpoint{
	{"/api/v1/info", verbGet, "info"},
	{"/api/v1/sources", verbGet, "sources"},
	{"/api/v1/problems", verbGet, "problems"},
	{"/api/v1/traces", verbList, ""},
	{"/api/v1/lifecycles", verbGet, "lifecycles"},
	{"/api/v1/groups", verbGet, "groups"},
	{"/api/v1/fields", verbGet, "fields"},
	{"/api/v1/regressions", verbGet, "regressions"},
	{"/api/v1/compare", verbGet, "compare"},
	{"/api/v1/density", verbGet, "density"},
	{"/api/v1/traces/{traceID}", verbGet, document},
	{"/api/v1/traces/{traceID}/why", verbGet, "why"},
	{"/api/v1/traces/{traceID}/tree", verbGet, "tree"},
	{"/api/v1/traces/{traceID}/spans/{spanID}", verbGet, "spans"},
	{"/api/v1/traces/{traceID}/find", verbGet, "find"},
	{"/api/v1/traces/{traceID}/causes", verbGet, "causes"},
	{"/api/v1/writes", verbGet, "writes"},
	{"/api/v1/openapi.json", "", ""}, // has no data of a cluster
	{"/api/v1/watch", verbWatch, ""},
	{"/api/v1/problems/stream", verbWatch, "problems"},
	{"/api/v1/runs", verbCreate, "runs"},

	// The API of Jaeger.
	{"/api/v3/services", verbGet, "groups"},
	{"/api/v3/operations", verbGet, "groups"},
	{"/api/v3/traces", verbList, ""},
	{"/api/v3/traces/{traceID}", verbGet, document},
	{"/api/v3/trace-summaries", verbList, ""},
	{"/api/services", verbGet, "groups"},
	{"/api/services/{service...}", verbGet, "groups"},
	{"/api/operations", verbGet, "groups"},
	{"/api/traces", verbList, ""},
	{"/api/traces/{traceID}", verbGet, document},
	{"/api/dependencies", "", ""}, // always empty
}

// Endpoints returns the paths of a server and their rights. A server has no other path with data.
func Endpoints() []Endpoint { return slices.Clone(endpoints) }

// matcher finds the endpoint of a path.
var matcher = sync.OnceValue(func() *http.ServeMux {
	mux := http.NewServeMux()
	for _, e := range endpoints {
		mux.Handle(e.Path, found(e))
	}
	return mux
})

// found is an endpoint as a handler of matcher. It is never called.
type found Endpoint

func (found) ServeHTTP(http.ResponseWriter, *http.Request) {}

// EndpointOf returns the endpoint of a request to the server, and whether there is one. A request of Handler for a
// list or an object of changes has the verb that the API server has checked, whatever its path, and no path.
func EndpointOf(r *http.Request) (Endpoint, bool) {
	if e, ok := r.Context().Value(endpointKey{}).(Endpoint); ok {
		return e, true
	}
	h, _ := matcher().Handler(r)
	e, ok := h.(found)
	return Endpoint(e), ok
}

// Subresources returns the subresources of changes that can be read, sorted.
func Subresources() []string {
	return subresources(func(e Endpoint) string { return e.Subresource })
}

// VisibleSubresources returns the subresources of visiblechanges, sorted. The path of a request follows the name "-".
// The API server takes its first part for the subresource.
func VisibleSubresources() []string {
	return subresources(func(e Endpoint) string {
		rest, ours := strings.CutPrefix(e.Path, apiRoot)
		if !ours {
			return ""
		}
		first, _, _ := strings.Cut(rest, "/")
		return first
	})
}

func subresources(of func(Endpoint) string) []string {
	var out []string
	for _, e := range endpoints {
		// A stream is a watch of the resource itself.
		if s := of(e); s != "" && e.Verb != verbWatch && e.Verb != verbCreate {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

type (
	endpointKey  struct{}
	namespaceKey struct{}
)

// NamespaceOf returns the namespace to which the path of a request narrows the answer, and whether it does. A
// request to all namespaces has none.
func NamespaceOf(ctx context.Context) (string, bool) {
	ns, ok := ctx.Value(namespaceKey{}).(string)
	return ns, ok
}

// inNamespace returns the context of a request to one namespace.
func inNamespace(ctx context.Context, namespace string) context.Context {
	return context.WithValue(ctx, namespaceKey{}, namespace)
}

// under returns the context of a request that the API server has checked as a verb on changes themselves.
func under(ctx context.Context, verb string) context.Context {
	return context.WithValue(ctx, endpointKey{}, Endpoint{Verb: verb})
}

// below returns the path of a subresource of one change, or of none, and whether there is one. rest has the parts of
// the path after the subresource.
func below(name, subresource string, rest []string) (string, bool) {
	for _, e := range endpoints {
		path, ours := strings.CutPrefix(e.Path, apiRoot)
		of, one := strings.CutPrefix(path, "traces/{traceID}")
		if !ours || e.Verb != verbGet || e.Subresource != subresource || one != (name != noName) {
			continue
		}
		if strings.Count(of, "{") != len(rest) {
			return "", false
		}
		if !one {
			return apiRoot + path, true
		}
		path = apiRoot + "traces/" + name
		if subresource != document {
			path += "/" + subresource
		}
		return strings.Join(append([]string{path}, rest...), "/"), true
	}
	return "", false
}
