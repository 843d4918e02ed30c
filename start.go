// SPDX-License-Identifier: Apache-2.0

package lifeline

import (
	"context"

	"go.opentelemetry.io/otel/trace"
)

// Start begins a span below the context that obj carries: one trace that can be
// walked from the change to this work. A span that ctx holds already becomes a
// link. If obj carries no context, it is tracer.Start.
func Start(ctx context.Context, tracer trace.Tracer, obj Annotated, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	if _, carried := Link(obj); !carried {
		return tracer.Start(ctx, name, opts...)
	}
	if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
		opts = append(opts[:len(opts):len(opts)], trace.WithLinks(trace.Link{SpanContext: sc}))
	}
	return tracer.Start(Context(ctx, obj), name, opts...)
}

// StartLinked begins a new trace whose root links to the context that obj
// carries, for those who keep one trace per piece of work. A span that ctx
// holds becomes a link, too. If obj carries no context, it is tracer.Start.
func StartLinked(ctx context.Context, tracer trace.Tracer, obj Annotated, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	link, ok := Link(obj)
	if !ok {
		return tracer.Start(ctx, name, opts...)
	}
	links := []trace.Link{link}
	if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
		links = append(links, trace.Link{SpanContext: sc})
	}
	opts = append(opts[:len(opts):len(opts)], trace.WithNewRoot(), trace.WithLinks(links...))
	return tracer.Start(Context(ctx, obj), name, opts...)
}

// Link returns a link to the context that obj carries, and whether it carries
// one. It reads as Extract does.
func Link(obj Annotated, conventions ...Convention) (trace.Link, bool) {
	sc := Extract(obj, conventions...)
	return trace.Link{SpanContext: sc}, sc.IsValid()
}
