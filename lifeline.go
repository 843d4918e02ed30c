// SPDX-License-Identifier: Apache-2.0

// Package lifeline carries a trace context on a Kubernetes object: the span
// context of the write that gave the object its present desired state, as W3C
// text in an annotation.
//
// It knows nothing of clients, controllers or exporters; an object is anything
// that has annotations.
package lifeline

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Annotation keys of a trace context on an object.
const (
	// ContextKey holds a W3C traceparent:
	// "00-<32 hex trace ID>-<16 hex span ID>-<2 hex flags>".
	ContextKey = "trace.kubernetes.io/context"
	// StateKey holds the W3C tracestate that belongs to ContextKey.
	StateKey = "trace.kubernetes.io/tracestate"
)

// maxState bounds the tracestate that is read; W3C asks for 512 characters to
// be kept.
const maxState = 1024

// Annotated is anything that carries annotations: every metav1.Object does.
type Annotated interface {
	GetAnnotations() map[string]string
}

// Extract returns the span context that obj carries, marked remote. A missing,
// malformed or over-long value gives an invalid span context (IsValid reports
// false), never an error: what stands on an object is a hint.
func Extract(obj Annotated) trace.SpanContext {
	annotations := obj.GetAnnotations()
	parent := annotations[ContextKey]
	if parent == "" {
		return trace.SpanContext{}
	}
	carrier := propagation.MapCarrier{"traceparent": parent}
	if state := annotations[StateKey]; len(state) <= maxState {
		carrier["tracestate"] = state
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), carrier)
	return trace.SpanContextFromContext(ctx)
}
