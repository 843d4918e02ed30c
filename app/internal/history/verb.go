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

// Verb is the effect of a write on its object. It is a number, to save memory. The engine's state has
// these numbers. The zero value is no verb.
type Verb uint16

// The verbs of writes.
const (
	// Created is the verb of a creation.
	Created Verb = iota + 1
	// Updated is the verb of any change of an existing object, except its deletion.
	Updated
	// Deleted is the verb of the start of a deletion, or of an immediate deletion.
	Deleted
	// Removed is the verb of the removal of an object after the start of its deletion.
	Removed
)

// verbs are the texts of the verbs.
var verbs = []string{Created: "create", Updated: "update", Deleted: "delete", Removed: "remove"}

// String returns the text of v, which is empty without a verb.
func (v Verb) String() string {
	if int(v) >= len(verbs) {
		return "" // in the state of a later release
	}
	return verbs[v]
}
