// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// stored tells which version of which object an event is about, and when it was
// stored as far as the object tells; the zero value tells of none.
type stored struct {
	key     objectKey
	version string
	// by is when it was stored at the latest: the end of the whole second that
	// managedFields tell. Zero if a cache has stripped them.
	by time.Time
}

// storing is what obj tells of its last write. The object itself is not kept.
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

// writtenAt is the latest time at which a version can have been written, and
// where that is known from: this process's own request, or the object. Zero if
// neither tells.
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
