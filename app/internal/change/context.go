// SPDX-License-Identifier: Apache-2.0

package change

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// ParseContext returns the W3C trace context with the values of traceparent and tracestate. A
// malformed traceparent gives the zero context.
func ParseContext(parent, state string) trace.SpanContext {
	if parent == "" {
		return trace.SpanContext{}
	}
	carrier := propagation.MapCarrier{"traceparent": parent, "tracestate": state}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
}

// RunOf returns the trace ID in the context of the request, or zero.
func RunOf(req *observation.Write) trace.TraceID {
	return ParseContext(req.TraceParent, "").TraceID()
}
