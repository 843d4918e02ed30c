// SPDX-License-Identifier: Apache-2.0

package lifeline

import (
	"crypto/sha256"

	"go.opentelemetry.io/otel/trace"
)

// Basis is how whoever admitted a write knew what its context follows from.
type Basis byte

const (
	// NotAdmitted is the basis of a context that was not given at admission.
	NotAdmitted Basis = 0
	// BasisNone says that nothing was known that it follows from; a trace begins.
	BasisNone Basis = 'n'
	// BasisRequest says that the request of the write carried the parent's context.
	BasisRequest Basis = 'r'
	// BasisOwner says that the parent is the reconciliation of the controller owner, which
	// was under way.
	BasisOwner Basis = 'o'
)

// Admit returns the context that an object is given at admission: of the trace of
// sc, with a claim beside it, and with a span ID that follows from both. So a
// reader can tell such a context by itself, and nobody can choose its span: not
// that of a span which exists already. The claim's Admitted must be a basis; its
// Nonce tells apart what is alike in all else. An invalid sc is returned as it is.
//
// The span is the one of the object's reconciliation, which whoever builds the
// trace will tell of; see docs/trace-model.md, rule P1.
func Admit(sc trace.SpanContext, c Claim) trace.SpanContext {
	return Claimed(sc.WithSpanID(c.admittedSpan(sc.TraceID())), c)
}

// IsAdmitted reports whether sc was made by Admit with the claim that stands
// beside it.
func IsAdmitted(sc trace.SpanContext) bool {
	c, holds := ClaimOf(sc)
	return holds && c.Admitted != NotAdmitted && c.admittedSpan(sc.TraceID()) == sc.SpanID()
}

// admittedSpan is the span ID that follows from a claim in a trace; zeros without
// a trace.
func (c Claim) admittedSpan(id trace.TraceID) trace.SpanID {
	var s trace.SpanID
	if !id.IsValid() {
		return s
	}
	c.Span = trace.SpanID{}
	sum := sha256.Sum256(append(id[:], c.String()...))
	copy(s[:], sum[:])
	s[7] |= 1 // an ID of zeros is none
	return s
}
