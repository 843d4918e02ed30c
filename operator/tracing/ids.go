// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/operator/internal/planned"
)

// ids gives a span the IDs that were planned for it, and random ones to the
// rest. A plan is a value of the context: two spans that are started with the
// same context get the same ID, so who plans gives each span a context of its
// own. A context that Start has returned carries no plan any more.
type ids struct{}

// NewIDs is asked for a root.
func (ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	traceID, spanID, _ := planned.IDs(ctx)
	if !traceID.IsValid() {
		traceID = planned.NewTraceID()
	}
	return traceID, randomUnless(spanID)
}

// NewSpanID is asked for a span below a parent, whose trace it joins.
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

// withoutPlan returns ctx for the spans below the one that was planned.
func withoutPlan(ctx context.Context) context.Context {
	if _, spanID, ok := planned.IDs(ctx); !ok || !spanID.IsValid() {
		return ctx
	}
	return planned.WithIDs(ctx, trace.TraceID{}, trace.SpanID{})
}
