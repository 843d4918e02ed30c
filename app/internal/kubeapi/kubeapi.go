// SPDX-License-Identifier: Apache-2.0

// Package kubeapi serves the API of package api as an API group of Kubernetes: `kubectl get changes`. It has
// the table of all paths and their rights, the documents of discovery and OpenAPI, and the handler of the group.
// Who sends a request, and what the sender may see, is left to api.Options.Access.
package kubeapi

// The names of the API group.
const (
	Group   = "lifeline.dev"
	Version = "v1alpha1"
	// Resource is namespaced. The name of a change is its trace ID.
	Resource = "changes"
	// VisibleResource has no namespace: the changes of all namespaces in which the caller may see changes.
	VisibleResource = "visiblechanges"

	// GroupVersion is the name of the only version.
	GroupVersion = Group + "/" + Version
	// Root is the path of the only version.
	Root = "/apis/" + GroupVersion
)
