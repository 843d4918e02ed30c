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

// tracer is one that keeps what it was asked for. It stands here in place of
// the SDK's, which would become a dependency of the library.
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

func TestStart(t *testing.T) {
	obj := annotated{ContextKey: goodParent, StateKey: "a=1", BaggageKey: "k=v"}
	carried := good(t, "a=1")
	held := Extract(annotated{ContextKey: twinParent}).WithRemote(false)
	type starter func(context.Context, trace.Tracer, Annotated, string, ...trace.SpanStartOption) (context.Context, trace.Span)
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
			"a span that was held becomes a link",
			Start,
			obj,
			held,
			carried,
			false,
			[]trace.SpanContext{held},
		},
		"BelowSame": {"the parent does not become a link, too", Start, obj, carried, carried, false, nil},
		"None": {
			"without a context the span that was held is the parent",
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
			"a span that was held becomes another",
			StartLinked,
			obj,
			held,
			carried,
			true,
			[]trace.SpanContext{carried, held},
		},
		"LinkedSame": {"the same becomes one", StartLinked, obj, carried, carried, true, []trace.SpanContext{carried}},
		"LinkedNone": {
			"without a context the span that was held is the parent",
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
				t.Errorf("%s: name %q and kind %s were passed on", tt.reason, r.name, r.config.SpanKind())
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
				t.Errorf("%s: the caller's options were written to", tt.reason)
			}
			if _, c := Find(tt.obj); c == Default && r.baggage != "k=v" {
				t.Errorf("%s: baggage = %q", tt.reason, r.baggage)
			}
		})
	}
}

// TestStartOff: a tracer that records nothing passes the object's context on,
// so that a component with tracing switched off breaks no trace.
func TestStartOff(t *testing.T) {
	obj := annotated{ContextKey: goodParent}
	off := noop.NewTracerProvider().Tracer("")
	for name, start := range map[string]func(context.Context, trace.Tracer, Annotated, string, ...trace.SpanStartOption) (context.Context, trace.Span){
		"Start": Start, "StartLinked": StartLinked,
	} {
		ctx, span := start(t.Context(), off, obj, "work")
		if sc := trace.SpanContextFromContext(ctx); formatParent(sc) != goodParent || !span.SpanContext().Equal(sc) ||
			span.IsRecording() {
			t.Errorf("%s: ctx holds %v, recording = %v", name, sc, span.IsRecording())
		}
	}
}
