// SPDX-License-Identifier: Apache-2.0

package lifeline

import (
	"context"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"
)

// tracer records the arguments of Start. It replaces the SDK's tracer, which would be a dependency
// of the library.
type tracer struct {
	embedded.Tracer
	parent  trace.SpanContext
	baggage string
	name    string
	config  trace.SpanConfig
}

func (r *tracer) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	r.parent, r.baggage = trace.SpanContextFromContext(ctx), baggage.FromContext(ctx).String()
	r.name, r.config = name, trace.NewSpanStartConfig(opts...)
	return ctx, trace.SpanFromContext(ctx)
}

// starter is the type of Start and StartLinked.
type starter func(
	context.Context, trace.Tracer, Annotated, string, ...trace.SpanStartOption,
) (context.Context, trace.Span)

func TestStart(t *testing.T) {
	obj := annotated{ContextKey: goodParent, StateKey: "a=1", BaggageKey: "k=v"}
	carried := good(t, "a=1")
	held := Extract(annotated{ContextKey: twinParent}).WithRemote(false)
	tests := map[string]struct {
		reason string
		start  starter
		obj    Annotated
		held   trace.SpanContext
		parent trace.SpanContext
		root   bool
		links  []trace.SpanContext
	}{
		"Below": {"the object's context is the parent", Start, obj, trace.SpanContext{}, carried, false, nil},
		"BelowHeld": {
			"another span in ctx becomes a link",
			Start,
			obj,
			held,
			carried,
			false,
			[]trace.SpanContext{held},
		},
		"BelowSame": {"the parent does not also become a link", Start, obj, carried, carried, false, nil},
		"None": {
			"without a context on the object, the span in ctx is the parent",
			Start,
			annotated{},
			held,
			held,
			false,
			nil,
		},
		"Linked": {
			"the object's context becomes a link",
			StartLinked,
			obj,
			trace.SpanContext{},
			carried,
			true,
			[]trace.SpanContext{carried},
		},
		"LinkedHeld": {
			"another span in ctx becomes a second link",
			StartLinked,
			obj,
			held,
			carried,
			true,
			[]trace.SpanContext{carried, held},
		},
		"LinkedSame": {
			"the same span becomes one link",
			StartLinked,
			obj,
			carried,
			carried,
			true,
			[]trace.SpanContext{carried},
		},
		"LinkedNone": {
			"without a context on the object, the span in ctx is the parent",
			StartLinked,
			annotated{},
			held,
			held,
			false,
			nil,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var r tracer
			own := trace.Link{SpanContext: held.WithSpanID(trace.SpanID{7})}
			opts := make([]trace.SpanStartOption, 0, 8)
			opts = append(opts, trace.WithSpanKind(trace.SpanKindConsumer), trace.WithLinks(own))
			ctx := trace.ContextWithSpanContext(t.Context(), tt.held)
			tt.start(ctx, &r, tt.obj, "work", opts...)

			if r.name != "work" || r.config.SpanKind() != trace.SpanKindConsumer {
				t.Errorf("%s: the tracer got name %q and kind %s", tt.reason, r.name, r.config.SpanKind())
			}
			if !r.parent.Equal(tt.parent) || r.config.NewRoot() != tt.root {
				t.Errorf("%s: parent = %v, new root = %v", tt.reason, r.parent, r.config.NewRoot())
			}
			var links []trace.SpanContext
			for _, l := range r.config.Links() {
				links = append(links, l.SpanContext)
			}
			if !slices.EqualFunc(
				links,
				append([]trace.SpanContext{own.SpanContext}, tt.links...),
				trace.SpanContext.Equal,
			) {
				t.Errorf("%s: links = %v, want the caller's and %v", tt.reason, links, tt.links)
			}
			if opts = opts[:3]; opts[2] != nil {
				t.Errorf("%s: Start changed the caller's options", tt.reason)
			}
			if _, c := Find(tt.obj); c == Default && r.baggage != "k=v" {
				t.Errorf("%s: baggage = %q", tt.reason, r.baggage)
			}
		})
	}
}

// TestStartOff checks that a no-op tracer forwards the object's context. Therefore a component with
// tracing switched off interrupts no trace.
func TestStartOff(t *testing.T) {
	obj := annotated{ContextKey: goodParent}
	off := noop.NewTracerProvider().Tracer("")
	for name, start := range map[string]starter{
		"Start": Start, "StartLinked": StartLinked,
	} {
		ctx, span := start(t.Context(), off, obj, "work")
		if sc := trace.SpanContextFromContext(ctx); formatParent(sc) != goodParent || !span.SpanContext().Equal(sc) ||
			span.IsRecording() {
			t.Errorf("%s: ctx holds %v, recording = %v", name, sc, span.IsRecording())
		}
	}
}
