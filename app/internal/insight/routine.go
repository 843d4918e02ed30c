// SPDX-License-Identifier: Apache-2.0

package insight

import (
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// conflict is the status code of a write that lost a race.
const conflict = 409

// Routine reports whether s is a write that says nothing about the change of t: to a status, to bookkeeping, or
// one that lost a race with another writer and was sent again. Trees leave such spans out unless asked for all.
func Routine(t *span.Trace, s *span.Span) bool {
	if s.Origin != nil || !s.IsWrite() || s == t.Root() {
		return false
	}
	if s.Status == span.StatusError {
		return Number(s, span.KeyStatusCode) == conflict && t.Outcome != span.Refused
	}
	if s.Open() {
		return false
	}
	if Attribute(s, span.KeySubresource) == "status" {
		return true
	}
	part := Attribute(s, span.KeyPart)
	return part == "observed" || part == "bookkeeping" || part == "ownership"
}
