// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"context"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/kube-lifeline/lifeline/operator"
)

// tracer is a trace.Tracer that checks the mode at each start.
type tracer struct {
	embedded.Tracer
	of   *Tracing
	made trace.Tracer // the SDK's
}

// Start implements trace.Tracer.
func (t *tracer) Start(
	ctx context.Context, name string, options ...trace.SpanStartOption,
) (context.Context, trace.Span) {
	if ctx == nil {
		ctx = context.Background() // like the SDK
	}
	switch t.of.Mode() {
	case operator.Record:
		ctx, span := t.made.Start(ctx, name, options...)
		return withoutPlan(ctx), span
	case operator.Propagate:
		// A root starts a new trace, without a context to pass on.
		if config := trace.NewSpanStartConfig(options...); !config.NewRoot() {
			return noop.Tracer{}.Start(ctx, name)
		}
	}
	span := noop.Span{}
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ctx, span // no span context to hide
	}
	return trace.ContextWithSpan(ctx, span), span
}
