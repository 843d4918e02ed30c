// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// parseContext reads a W3C context; what is malformed is no context.
func parseContext(parent, state string) trace.SpanContext {
	if parent == "" {
		return trace.SpanContext{}
	}
	carrier := propagation.MapCarrier{"traceparent": parent, "tracestate": state}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
}

func linkReason(why string) []attribute.KeyValue {
	return []attribute.KeyValue{span.KeyLink.String(why)}
}
