// SPDX-License-Identifier: Apache-2.0

package lifeline

import (
	"context"

	"go.opentelemetry.io/otel/trace"
)

// Start begins a span below the context that obj carries: one trace that can be
// walked from the change to this work. Another span that ctx holds already
// becomes a link. If obj carries no context, it is tracer.Start.
func Start(
	ctx context.Context,
	tracer trace.Tracer,
	obj Annotated,
	name string,
	opts ...trace.SpanStartOption,
) (context.Context, trace.Span) {
	annotations := obj.GetAnnotations()
	sc, c := find(annotations, nil)
	if c == nil {
		return tracer.Start(ctx, name, opts...)
	}
	if held, ok := otherSpan(ctx, sc); ok {
		opts = append(opts[:len(opts):len(opts)], trace.WithLinks(held))
	}
	return tracer.Start(c.enter(ctx, sc, annotations), name, opts...)
}

// StartLinked begins a new trace whose root links to the context that obj
// carries, for those who keep one trace per piece of work. Another span that
// ctx holds becomes a link, too. The tracer's sampler decides on the new trace
// as on any root; it sees the links. If obj carries no context, it is
// tracer.Start.
func StartLinked(
	ctx context.Context,
	tracer trace.Tracer,
	obj Annotated,
	name string,
	opts ...trace.SpanStartOption,
) (context.Context, trace.Span) {
	annotations := obj.GetAnnotations()
	sc, c := find(annotations, nil)
	if c == nil {
		return tracer.Start(ctx, name, opts...)
	}
	links := []trace.Link{{SpanContext: sc}}
	if held, ok := otherSpan(ctx, sc); ok {
		links = append(links, held)
	}
	opts = append(opts[:len(opts):len(opts)], trace.WithNewRoot(), trace.WithLinks(links...))
	// The root has no parent; a tracer that records nothing passes the object's
	// context on.
	return tracer.Start(c.enter(ctx, sc, annotations), name, opts...)
}

// otherSpan returns a link to the span that ctx holds, unless it is the one
// that the object carries.
func otherSpan(ctx context.Context, carried trace.SpanContext) (trace.Link, bool) {
	held := trace.SpanContextFromContext(ctx)
	same := held.TraceID() == carried.TraceID() && held.SpanID() == carried.SpanID()
	return trace.Link{SpanContext: held}, held.IsValid() && !same
}

// Link returns a link to the context that obj carries, and whether it carries
// one. It reads as Extract does.
func Link(obj Annotated, conventions ...Convention) (trace.Link, bool) {
	sc := Extract(obj, conventions...)
	return trace.Link{SpanContext: sc}, sc.IsValid()
}
