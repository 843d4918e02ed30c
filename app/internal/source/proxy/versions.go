// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/source/request"
)

// maxObjects limits the number of objects in versions.
const maxObjects = 20_000

// version is the latest known version of an object or a resource.
type version struct {
	// highest is a resourceVersion that existed at time at. listed is the highest resourceVersion
	// of a list.
	highest, listed uint64
	uid             types.UID
	at              time.Time
}

// versions remembers the versions in responses. A stored write has a higher resourceVersion than
// all earlier responses for its resource. So a response with an older or equal version stored
// nothing.
type versions struct {
	mu        sync.Mutex
	resources map[schema.GroupResource]version
	objects   map[objectKey]version
}

type objectKey struct {
	schema.GroupResource
	namespace, name string
}

func newVersions() *versions {
	return &versions{resources: map[schema.GroupResource]version{}, objects: map[objectKey]version{}}
}

// learn records the versions in a response. at is the time of its request.
func (v *versions) learn(c call, a *request.Body, at time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	gr := c.GroupResource()
	resource := v.resources[gr]
	if a.IsList() && a.Metadata.Version() > 0 {
		resource.listed = max(resource.listed, a.Metadata.Version())
		resource.highest = max(resource.highest, resource.listed)
		resource.at = at
	}
	for _, o := range a.Objects() {
		rv := o.Metadata.Version()
		resource.highest = max(resource.highest, rv)
		namespace := first(o.Metadata.Namespace, c.namespace)
		key := objectKey{gr, namespace, o.Metadata.Name}
		if _, known := v.objects[key]; known || len(v.objects) < maxObjects {
			v.objects[key] = version{highest: max(rv, v.objects[key].highest), uid: o.Metadata.UID, at: at}
		}
	}
	v.resources[gr] = resource
}

// of returns the latest known version of a call's object.
func (v *versions) of(c call) version {
	v.mu.Lock()
	defer v.mu.Unlock()
	resource := v.resources[c.GroupResource()]
	object := v.objects[objectKey{c.GroupResource(), c.namespace, c.name}]
	known := version{
		highest: max(resource.highest, object.highest), listed: resource.listed,
		uid: object.uid, at: resource.at,
	}
	removes := c.verb == request.Delete || c.verb == request.DeleteCollection
	if !removes && object.at.After(known.at) {
		known.at = object.at
	}
	return known
}
