// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// writtenAt is the latest time at which this version of obj can have been
// written, and where that is known from: from this process's own request, or
// from the object, which tells whole seconds. Zero if neither tells.
func (k *Kit) writtenAt(obj client.Object) (time.Time, string) {
	if obj == nil {
		return time.Time{}, ""
	}
	if scheme := k.scheme.Load(); scheme != nil {
		if gvk, err := apiutil.GVKForObject(obj, scheme); err == nil {
			if last, ok := k.writes.of(objectKey{gvk.GroupKind(), client.ObjectKeyFromObject(obj)}); ok && last.version == obj.GetResourceVersion() && !last.at.IsZero() {
				return last.at, "request"
			}
		}
	}
	if len(obj.GetManagedFields()) == 0 {
		return time.Time{}, "" // the cache strips them
	}
	latest := obj.GetCreationTimestamp().Time
	for _, m := range obj.GetManagedFields() {
		if m.Time != nil && m.Time.After(latest) {
			latest = m.Time.Time
		}
	}
	return latest.Add(time.Second), "object"
}
