// SPDX-License-Identifier: Apache-2.0

package lifeline

import (
	"context"

	"go.opentelemetry.io/otel/trace"
)

// Start begins a span with the context of obj as its parent. The trace then contains both the
// change and this work. A different span in ctx becomes a link. If obj has no context, Start is
// tracer.Start.
func Start(
	ctx context.Context, tracer trace.Tracer, obj Annotated, name string, opts ...trace.SpanStartOption,
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

// StartLinked begins a new trace, with a root span that links to the context of obj. It is for
// controllers with a separate trace per unit of work. A different span in ctx becomes a second
// link. The tracer's sampler decides about the root as usual, and gets the links. If obj has no
// context, StartLinked is tracer.Start.
func StartLinked(
	ctx context.Context, tracer trace.Tracer, obj Annotated, name string, opts ...trace.SpanStartOption,
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
	// A real tracer ignores the parent in ctx, because of WithNewRoot. A no-op tracer forwards it,
	// so ctx must hold the object's context.
	return tracer.Start(c.enter(ctx, sc, annotations), name, opts...)
}

// otherSpan returns a link to the span in ctx. It returns false if there is none, or if it is the
// object's context.
func otherSpan(ctx context.Context, carried trace.SpanContext) (trace.Link, bool) {
	held := trace.SpanContextFromContext(ctx)
	same := held.TraceID() == carried.TraceID() && held.SpanID() == carried.SpanID()
	return trace.Link{SpanContext: held}, held.IsValid() && !same
}

// Link returns a link to the context of obj, and whether obj has one. The lookup is the same as in
// Extract.
func Link(obj Annotated, conventions ...Convention) (trace.Link, bool) {
	sc := Extract(obj, conventions...)
	return trace.Link{SpanContext: sc}, sc.IsValid()
}
