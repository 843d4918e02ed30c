// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"crypto/rand"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// newRoot returns the context of the run's own span. It is a child of the span in TRACEPARENT, or
// starts a new trace.
func newRoot(traceparent, tracestate string) (root trace.SpanContext, parent string) {
	carrier := propagation.MapCarrier{"traceparent": traceparent, "tracestate": tracestate}
	outer := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
	cfg := trace.SpanContextConfig{TraceFlags: trace.FlagsSampled}
	if outer.IsValid() {
		cfg.TraceID, cfg.TraceFlags, cfg.TraceState = outer.TraceID(), outer.TraceFlags(), outer.TraceState()
		parent = traceParent(outer)
	} else {
		_, _ = rand.Read(cfg.TraceID[:]) // never fails
	}
	_, _ = rand.Read(cfg.SpanID[:])
	return trace.NewSpanContext(cfg), parent
}

// traceParent returns a context as W3C text.
func traceParent(sc trace.SpanContext) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(context.Background(), sc), carrier)
	return carrier["traceparent"]
}
