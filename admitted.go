// SPDX-License-Identifier: Apache-2.0

package lifeline

import (
	"crypto/sha256"

	"go.opentelemetry.io/otel/trace"
)

// Basis is the evidence for the parent of a context that was set at admission.
type Basis byte

const (
	// NotAdmitted marks a context that was not set at admission.
	NotAdmitted Basis = 0
	// BasisNone means no known parent; the context starts a trace.
	BasisNone Basis = 'n'
	// BasisRequest means a parent context in the write request.
	BasisRequest Basis = 'r'
	// BasisOwner means that the parent is the controller owner's reconciliation, which was in
	// progress.
	BasisOwner Basis = 'o'
)

// Admit returns a context for an object at admission. It has the trace of sc, the claim c, and a
// span ID hashed from both. IsAdmitted recognizes such a context, and a client cannot choose its
// span ID, for example that of an existing span. c.Admitted must not be NotAdmitted. c.Nonce
// distinguishes otherwise equal claims. An invalid sc is returned unchanged.
//
// The span is the object's reconciliation. The trace builder creates it; see docs/trace-model.md,
// rule P1.
func Admit(sc trace.SpanContext, c Claim) trace.SpanContext {
	return Claimed(sc.WithSpanID(c.admittedSpan(sc.TraceID())), c)
}

// IsAdmitted reports whether Admit made sc, with the claim in its tracestate.
func IsAdmitted(sc trace.SpanContext) bool {
	c, holds := ClaimOf(sc)
	return holds && c.Admitted != NotAdmitted && c.admittedSpan(sc.TraceID()) == sc.SpanID()
}

// admittedSpan returns the span ID that c gives in a trace; zero for an invalid trace ID.
func (c Claim) admittedSpan(id trace.TraceID) trace.SpanID {
	var s trace.SpanID
	if !id.IsValid() {
		return s
	}
	c.Span = trace.SpanID{}
	sum := sha256.Sum256(append(id[:], c.String()...))
	copy(s[:], sum[:])
	s[7] |= 1 // an all-zero ID is invalid
	return s
}
