// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// plan is what one stream watches, and how.
type plan struct {
	resource schema.GroupVersionResource
	// namespace is empty for all of them and for objects of cluster scope.
	namespace string
	// name is empty for all objects.
	name string
	// since is the resourceVersion after which everything counts as seen
	// happening; 0 is now.
	since uint64
	// old says that since lies back, so that what came after it is late.
	old bool
	// quiet plans have their own use for what is seen: a resource that may
	// not be read is not worth a warning.
	quiet bool
	// seen takes what the stream sees.
	seen func(s *stream, o *observation.Observation)
}

// key identifies a stream: one for each resource, whatever its version.
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

// pageSize is how many objects one page of a list holds.
func (p plan) pageSize() int64 {
	if p.resource.GroupResource() == crds {
		return 20 // their schemas can be huge
	}
	return 250
}

// Resources that are read in their own way.
var (
	crds       = schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
	events     = schema.GroupVersionResource{Group: "events.k8s.io", Version: "v1", Resource: "events"}
	coreEvents = schema.GroupVersionResource{Version: "v1", Resource: "events"}
)
