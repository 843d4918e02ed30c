// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// plan describes the resource of one stream and how to watch it.
type plan struct {
	resource schema.GroupVersionResource
	// namespace is empty for all namespaces and for cluster-scoped objects.
	namespace string
	// name is empty for all objects.
	name string
	// since is the resourceVersion after which changes count as live; 0 means now.
	since uint64
	// old means that since is in the past, so changes after it are late.
	old bool
	// quiet plans give no warning for an unreadable resource.
	quiet bool
	// seen receives the observations of the stream.
	seen func(*observation.Observation)
}

// key identifies a stream: one for each resource, in any version.
type key struct {
	schema.GroupResource
	namespace, name string
}

func (p plan) key() key {
	return key{GroupResource: p.resource.GroupResource(), namespace: p.namespace, name: p.name}
}

func (k key) anyName() key {
	k.name = ""
	return k
}

func (k key) anyNamespace() key {
	k.namespace, k.name = "", ""
	return k
}

// pageSize is the number of objects in one page of a list.
func (p plan) pageSize() int64 {
	if p.resource.GroupResource() == crds {
		return 20 // their schemas can be huge
	}
	return 250
}

// Resources with special handling.
var (
	crds       = schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
	events     = schema.GroupVersionResource{Group: "events.k8s.io", Version: "v1", Resource: "events"}
	coreEvents = schema.GroupVersionResource{Version: "v1", Resource: "events"}
)
