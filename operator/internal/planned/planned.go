// SPDX-License-Identifier: Apache-2.0

// Package planned fixes the IDs of a span before the span exists.
//
// The kit decides the span context of a write before it sends the write, since
// the object that is written carries it; whether the write changed anything,
// and so whether there is a span at all, is known only from the answer. The
// span is then started with the IDs that were planned, by an ID generator that
// asks IDs. Who starts spans, and when, is left to others.
package planned

import (
	"context"

	"go.opentelemetry.io/otel/trace"
)

type key struct{}

type ids struct {
	trace trace.TraceID
	span  trace.SpanID
}

// WithIDs returns a context in which the next span that is started has these
// IDs. The trace ID counts for a root only: below a parent it is the parent's.
func WithIDs(ctx context.Context, traceID trace.TraceID, spanID trace.SpanID) context.Context {
	return context.WithValue(ctx, key{}, ids{trace: traceID, span: spanID})
}

// IDs returns the IDs that were planned for the next span, if any were.
func IDs(ctx context.Context) (trace.TraceID, trace.SpanID, bool) {
	p, ok := ctx.Value(key{}).(ids)
	return p.trace, p.span, ok
}
