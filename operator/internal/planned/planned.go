// SPDX-License-Identifier: Apache-2.0

// Package planned fixes the IDs of a span, and whether it is sampled, before
// the span exists.
//
// The kit decides the span context of a write before it sends the write, since
// the object that is written carries it; whether the write changed anything,
// and so whether there is a span at all, is known only from the answer. The
// span is then started with what was planned, by an ID generator and a sampler
// that ask Of. Who starts spans, and when, is left to others.
package planned

import (
	"context"
	"encoding/binary"
	"math/rand/v2"

	"go.opentelemetry.io/otel/trace"
)

type key struct{}

// Span is what is planned for a span.
type Span struct {
	// TraceID counts for a root only: below a parent it is the parent's.
	TraceID trace.TraceID
	SpanID  trace.SpanID
	// Sampled counts for a root only, and says that it is sampled whatever the
	// sampler's rate: it follows from a context that was.
	Sampled bool
}

// With returns a context in which the next span that is started is this one.
func With(ctx context.Context, s Span) context.Context {
	return context.WithValue(ctx, key{}, s)
}

// Of returns what was planned for the next span, if anything was.
func Of(ctx context.Context) (Span, bool) {
	s, ok := ctx.Value(key{}).(Span)
	return s, ok
}

// IDs returns the IDs that were planned for the next span, if any were.
func IDs(ctx context.Context) (trace.TraceID, trace.SpanID, bool) {
	s, ok := Of(ctx)
	return s.TraceID, s.SpanID, ok
}

// WithIDs is With for the IDs alone.
func WithIDs(ctx context.Context, traceID trace.TraceID, spanID trace.SpanID) context.Context {
	return With(ctx, Span{TraceID: traceID, SpanID: spanID})
}

// NewTraceID returns a random ID.
func NewTraceID() (id trace.TraceID) {
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:8], rand.Uint64()) //nolint:gosec // an ID is no secret; the SDK does the same
		binary.NativeEndian.PutUint64(id[8:], rand.Uint64()) //nolint:gosec // as above
	}
	return id
}

// NewSpanID returns a random ID.
func NewSpanID() (id trace.SpanID) {
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:], rand.Uint64()) //nolint:gosec // as above
	}
	return id
}
