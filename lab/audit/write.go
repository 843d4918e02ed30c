// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/json"
	"time"
)

// A Write is one stored write of one object.
type Write struct {
	// Group, Resource and Subresource name the written resource: "apps",
	// "deployments", "scale".
	Group, Resource, Subresource string
	// Namespace is empty for cluster-scoped objects.
	Namespace, Name string
	// UID is that of the object. If the response lacks it (a binding, an
	// eviction, a delete by name), it is that of the latest earlier write of an
	// object with this name; empty without one.
	UID string
	// ResourceVersion is that of the object after the write. It is empty if the
	// response is not an object: for a binding, an eviction, most immediate
	// deletes, and each object of a deletecollection. If the write Removed the
	// object, it may be that of the last state.
	ResourceVersion string
	// Generation is that of the object after the write; zero if there is none or
	// the response is not an object.
	Generation int64
	// Verb is create, update, patch, delete or deletecollection. A patch or
	// update that created the object has Code 201.
	Verb string
	Code int

	// Removed means that the write removed the object: an immediate delete, or
	// the removal of the last finalizer. It is false if the write only set the
	// deletionTimestamp, and for a deletecollection, where it is not known.
	Removed bool

	User, UserAgent string
	// AuditID is also in the response's Audit-Id header and in the API server's
	// span. The writes of one deletecollection share it.
	AuditID string
	// Received is the time of the request, Completed that of the response, both
	// with microseconds.
	Received, Completed time.Time

	// Object is the response; nil if it is not an object.
	Object json.RawMessage
}
