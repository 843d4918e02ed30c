// SPDX-License-Identifier: Apache-2.0

package insight

import (
	"net/http"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Routine reports whether s is a write that says nothing about the change of t: to a status, to bookkeeping, or
// one that lost a race with another writer and was sent again. Trees leave such spans out unless asked for all.
func Routine(t *span.Trace, s *span.Span) bool {
	if s.Origin != nil || !s.IsWrite() || s == t.Root() {
		return false
	}
	if s.Status == span.StatusError {
		return Number(s, span.KeyStatusCode) == http.StatusConflict && t.Outcome != span.Refused
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
