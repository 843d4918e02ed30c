// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/json"
	"time"
)

// A Write is one stored write of one object.
type Write struct {
	// Group, Resource and Subresource say what was written: "apps",
	// "deployments", "scale".
	Group, Resource, Subresource string
	// Namespace is empty for cluster-scoped objects.
	Namespace, Name string
	// UID is the object's. Where the answer lacks it (a binding, an eviction,
	// a delete by name) it is that of the latest earlier write of an object of
	// that name, and empty if there was none.
	UID string
	// ResourceVersion is what the write gave the object. It is empty where the
	// answer is no object: for a binding, an eviction, most deletes that
	// removed the object at once, and for each object of a deletecollection.
	// Of a write that Removed the object it may be that of its last state.
	ResourceVersion string
	// Generation is that of the object after the write; zero if it has none or
	// the answer is no object.
	Generation int64
	// Verb is create, update, patch, delete or deletecollection. A patch or
	// update that created the object has Code 201.
	Verb string
	Code int

	// Removed is true if the write removed the object, as an immediate delete
	// and the removal of the last finalizer do; false if it only set the
	// deletionTimestamp, and for a deletecollection, whose answer does not tell.
	Removed bool

	User, UserAgent string
	// AuditID is also in the answer's Audit-Id header and in the API server's
	// span. The writes of one deletecollection share it.
	AuditID string
	// Received is when the request arrived, Completed when it was answered,
	// both with microseconds.
	Received, Completed time.Time

	// Object is the answer; nil if that is no object.
	Object json.RawMessage
}
