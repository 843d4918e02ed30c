// SPDX-License-Identifier: Apache-2.0

// Package planned sets the IDs of a span, and whether it is sampled, before the span exists.
//
// The kit chooses the span context of a write before the request, because the written object
// carries it. Only the response shows whether the write changed something and gets a span. An ID
// generator and a sampler then call Of to start the span as planned. The package does not start
// spans.
package planned

import (
	"context"
	"encoding/binary"
	"math/rand/v2"

	"go.opentelemetry.io/otel/trace"
)

type key struct{}

// Span is the plan for a span.
type Span struct {
	// TraceID is used only for a root span. Other spans have their parent's trace ID.
	TraceID trace.TraceID
	SpanID  trace.SpanID
	// Sampled is used only for a root span. It forces sampling regardless of the sampler's rate,
	// because the span follows from a sampled context.
	Sampled bool
}

// With returns a context that plans the next span.
func With(ctx context.Context, s Span) context.Context {
	return context.WithValue(ctx, key{}, s)
}

// Of returns the plan for the next span, and whether there is one.
func Of(ctx context.Context) (Span, bool) {
	s, ok := ctx.Value(key{}).(Span)
	return s, ok
}

// IDs returns the planned IDs of the next span, and whether there are any.
func IDs(ctx context.Context) (trace.TraceID, trace.SpanID, bool) {
	s, ok := Of(ctx)
	return s.TraceID, s.SpanID, ok
}

// WithIDs is With for the IDs only.
func WithIDs(ctx context.Context, traceID trace.TraceID, spanID trace.SpanID) context.Context {
	return With(ctx, Span{TraceID: traceID, SpanID: spanID})
}

// NewTraceID returns a random trace ID.
func NewTraceID() (id trace.TraceID) {
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:8], rand.Uint64()) //nolint:gosec // IDs are not secret; the SDK does the same
		binary.NativeEndian.PutUint64(id[8:], rand.Uint64()) //nolint:gosec // as above
	}
	return id
}

// NewSpanID returns a random span ID.
func NewSpanID() (id trace.SpanID) {
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:], rand.Uint64()) //nolint:gosec // as above
	}
	return id
}
