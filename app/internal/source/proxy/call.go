// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/source/request"
)

// call describes a request to the API. It follows the API server's reading of the path.
type call struct {
	schema.GroupVersionResource
	namespace   string
	name        string
	subresource string
	verb        string
	// read is set for reads whose object versions are useful. write is set for requests that store
	// something.
	read, write bool
}

// namespaceParts are the subresources of a Namespace. Any other word after its name is a namespaced
// resource.
var namespaceParts = []string{"status", "finalize"}

// classify returns the call of a request. A path outside the objects' API gives the zero call.
func classify(method, path string, query url.Values, header http.Header) call {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if slices.Contains(parts, "") {
		return call{}
	}
	var c call
	switch {
	case parts[0] == "api" && len(parts) >= 3:
		c.Version, parts = parts[1], parts[2:]
	case parts[0] == "apis" && len(parts) >= 4:
		c.Group, c.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return call{}
	}
	if parts[0] == "watch" || parts[0] == "proxy" { // the old prefixes only read or connect
		return call{}
	}
	if parts[0] == "namespaces" && len(parts) > 2 && !slices.Contains(namespaceParts, parts[2]) {
		c.namespace, parts = parts[1], parts[2:]
	}
	c.Resource = parts[0]
	if len(parts) > 1 {
		c.name = parts[1]
	}
	if len(parts) > 2 {
		c.subresource = parts[2]
	}
	c.setVerb(method, header)
	c.read = method == http.MethodGet && c.subresource == "" && query.Get("watch") == ""
	c.write = c.verb != "" && c.stores() && !slices.Contains(query["dryRun"], "All")
	return c
}

func (c *call) setVerb(method string, header http.Header) {
	switch method {
	case http.MethodPost:
		c.verb = request.Create
	case http.MethodPut:
		c.verb = request.Update
	case http.MethodPatch:
		c.verb = request.Patch
		if strings.HasPrefix(header.Get("Content-Type"), "application/apply-patch") {
			c.verb = request.Apply
		}
	case http.MethodDelete:
		c.verb = request.Delete
		if c.name == "" {
			c.verb = request.DeleteCollection
		}
	}
	if c.evicts() {
		c.verb = request.Delete
	}
}

// stores reports whether a write to this resource stores anything.
func (c *call) stores() bool { return request.Stores(c.GroupResource(), c.subresource) }

// evicts reports whether the call asks for a Pod's eviction, which deletes it.
func (c *call) evicts() bool {
	return c.verb != "" && request.Evicts(c.GroupResource(), c.subresource)
}

// binds reports whether the call assigns a Pod to a node through the old bindings resource.
func (c *call) binds() bool { return c.Group == "" && c.Resource == "bindings" }
