// SPDX-License-Identifier: Apache-2.0

package lifeline

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"

	"go.opentelemetry.io/otel/trace"
)

// Child is an object that is about to be written because of another's context.
type Child struct {
	Identity
	// Digest is that of the child's desired state as it is sent.
	Digest Digest
	// Generation is that which the write will give the child; 0 if not known.
	Generation int64
	// Attempt tells writes apart that are alike and yet are two, such as the
	// creation of what was deleted again; 0 for the first.
	Attempt int
	// Former is the span of the context that the write replaces; zero if there is
	// none. It tells apart the writes of a state that comes and goes.
	Former trace.SpanID
	// Linked is, in link mode, the context that the parent's trace links to.
	Linked trace.SpanContext
}

// Derive returns the context that a child carries: that of the write which
// makes it, in the trace of its parent, with the parent's flags and tracestate
// and with a claim of its own. It is a pure function, so writing the same child
// again for the same reason gives the same context and changes nothing. The
// time in the claim is the parent's, being that of the change. From an invalid
// parent nothing follows: the result is invalid.
func Derive(parent trace.SpanContext, child Child) trace.SpanContext {
	if !parent.IsValid() {
		return trace.SpanContext{}
	}
	// A reconcile's span has inherited the claim of its object: it does not hold
	// for the span, but the time is that of the change all the same.
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
