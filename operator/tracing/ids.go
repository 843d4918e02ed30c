// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/operator/internal/planned"
)

// ids generates the planned IDs of a span, or random ones. The plan is a value of the context. Two
// spans started with the same context get the same ID, so each plan needs a separate context. The
// context from Start has no plan.
type ids struct{}

// NewIDs returns the IDs of a root span.
func (ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	traceID, spanID, _ := planned.IDs(ctx)
	if !traceID.IsValid() {
		traceID = planned.NewTraceID()
	}
	return traceID, randomUnless(spanID)
}

// NewSpanID returns the ID of a child span; its trace is the parent's.
func (ids) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	_, spanID, _ := planned.IDs(ctx)
	return randomUnless(spanID)
}

func randomUnless(id trace.SpanID) trace.SpanID {
	if !id.IsValid() {
		return planned.NewSpanID()
	}
	return id
}

// withoutPlan returns ctx without a plan, for child spans of the planned span.
func withoutPlan(ctx context.Context) context.Context {
	if _, spanID, ok := planned.IDs(ctx); !ok || !spanID.IsValid() {
		return ctx
	}
	return planned.WithIDs(ctx, trace.TraceID{}, trace.SpanID{})
}
