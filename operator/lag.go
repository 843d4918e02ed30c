// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// stored is a version of an object in an event, with its latest possible write time. The zero value
// means none.
type stored struct {
	key     objectKey
	version string
	// by is the latest possible write time: the end of the second in managedFields. It is zero if a
	// cache removed managedFields.
	by time.Time
}

// storing returns the version and the write time of obj. It does not retain obj.
func (k *Kit) storing(obj client.Object) stored {
	s := stored{version: obj.GetResourceVersion()}
	if scheme := k.scheme.Load(); scheme != nil {
		if gvk, err := apiutil.GVKForObject(obj, scheme); err == nil {
			s.key = objectKey{gvk.GroupKind(), client.ObjectKeyFromObject(obj)}
		}
	}
	if len(obj.GetManagedFields()) == 0 {
		return s
	}
	latest := obj.GetCreationTimestamp().Time
	for _, m := range obj.GetManagedFields() {
		if m.Time != nil && m.Time.After(latest) {
			latest = m.Time.Time
		}
	}
	s.by = latest.Add(time.Second)
	return s
}

// writtenAt returns the latest possible write time of a version, and its source: a request of this
// process, or the object. It is zero if neither has a time.
func (k *Kit) writtenAt(s stored) (time.Time, string) {
	if s.key.Name != "" {
		if last, ok := k.writes.of(s.key); ok && last.version == s.version && !last.at.IsZero() {
			return last.at, "request"
		}
	}
	if s.by.IsZero() {
		return time.Time{}, ""
	}
	return s.by, "object"
}
