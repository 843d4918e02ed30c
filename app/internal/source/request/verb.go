// SPDX-License-Identifier: Apache-2.0

package request

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Verbs of a write.
const (
	Create           = "create"
	Update           = "update"
	Patch            = "patch"
	Apply            = "apply"
	Delete           = "delete"
	DeleteCollection = "deletecollection"
)

// connects are the subresources that open a connection to a container or proxy a request, with any
// method.
var connects = []string{"exec", "attach", "portforward", "proxy"}

// Stores reports whether a write to the resource stores anything. Reviews, tokens and connections
// store nothing.
func Stores(r schema.GroupResource, subresource string) bool {
	switch {
	case r.Group == "authentication.k8s.io", r.Group == "authorization.k8s.io":
		return !strings.HasSuffix(r.Resource, "reviews")
	case slices.Contains(connects, subresource):
		return false
	case r.Group == "" && r.Resource == "serviceaccounts" && subresource == "token":
		return false
	case r.Group == "imagepolicy.k8s.io":
		return false
	}
	return true
}

// Evicts reports whether a write to the resource is a Pod's eviction, which deletes the Pod.
func Evicts(r schema.GroupResource, subresource string) bool {
	return r.Group == "" && r.Resource == "pods" && subresource == "eviction"
}

// Binds reports whether a write to the resource assigns a Pod to a node: through the Pod's
// subresource or the old bindings resource.
func Binds(r schema.GroupResource, subresource string) bool {
	return r.Group == "" && (r.Resource == "bindings" || r.Resource == "pods" && subresource == "binding")
}
