// SPDX-License-Identifier: Apache-2.0

package lifeline

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"

	"go.opentelemetry.io/otel/trace"
)

// Child is an object that a controller is about to write, on behalf of a parent context.
type Child struct {
	Identity
	// Digest is the digest of the child's desired state in the request.
	Digest Digest
	// Generation is the child's generation after the write; 0 if unknown.
	Generation int64
	// Attempt distinguishes otherwise equal writes, for example the second creation of a deleted
	// object. 0 is the first.
	Attempt int
	// Former is the span ID of the replaced context; zero if there was none. It distinguishes the
	// writes of a state that alternates.
	Former trace.SpanID
	// Linked is the context that the parent's trace links to, in link mode.
	Linked trace.SpanContext
}

// Derive returns the context for a child. It identifies the child's write, in the trace of its
// parent, with the parent's flags and tracestate and a new claim. Derive is a pure function: the
// same write of the same child for the same reason gives the same context, so a repeated write
// changes nothing. The claim's time is the parent's, the time of the original change. If parent is
// invalid, the result is invalid.
func Derive(parent trace.SpanContext, child Child) trace.SpanContext {
	if !parent.IsValid() {
		return trace.SpanContext{}
	}
	// The span of a reconcile inherits the claim of its object. That claim is invalid for the span,
	// but its time is still the time of the change.
	above, _ := ClaimOf(parent)
	claim := Claim{
		Parent: parent.SpanID(), Object: child.Hash(), Digest: child.Digest,
		Generation: child.Generation, Time: above.Time,
	}
	if child.Linked.IsValid() {
		claim.Parent, claim.ParentTrace = child.Linked.SpanID(), child.Linked.TraceID()
		if linked, _ := ClaimOf(child.Linked); !linked.Time.IsZero() {
			claim.Time = linked.Time
		}
	}
	sc := parent.WithSpanID(deriveSpanID(parent, claim.Object, child)).WithRemote(true)
	return Claimed(sc, claim)
}

func deriveSpanID(parent trace.SpanContext, object ObjectHash, child Child) trace.SpanID {
	b := make([]byte, 0, 72)
	traceID, spanID := parent.TraceID(), parent.SpanID()
	b = append(b, traceID[:]...)
	b = append(b, spanID[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(object))
	b = binary.BigEndian.AppendUint64(b, uint64(child.Digest))
	if child.Former.IsValid() {
		b = append(b, child.Former[:]...)
	}
	b = strconv.AppendInt(b, int64(child.Attempt), 10)
	sum := sha256.Sum256(b)
	id := trace.SpanID(sum[:8])
	if !id.IsValid() {
		id[7] = 1
	}
	return id
}
