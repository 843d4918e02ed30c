// SPDX-License-Identifier: Apache-2.0

package history

import "github.com/kube-lifeline/lifeline/app/internal/observation"

// RequestVerb returns the effect of a request on its object, by its verb, subresource and status
// code.
func RequestVerb(req *observation.Write) Verb {
	switch {
	case req.Verb == "delete", req.Verb == "deletecollection", req.Subresource == "eviction":
		return Deleted
	case req.Code == 201 && req.Subresource == "":
		return Created
	}
	return Updated
}

// Verb is the effect of a write on its object.
type Verb string

// The verbs of writes.
const (
	// Created is the verb of a creation.
	Created Verb = "create"
	// Updated is the verb of any change of an existing object, except its deletion.
	Updated Verb = "update"
	// Deleted is the verb of the start of a deletion, or of an immediate deletion.
	Deleted Verb = "delete"
	// Removed is the verb of the removal of an object after the start of its deletion.
	Removed Verb = "remove"
)
