// SPDX-License-Identifier: Apache-2.0

package tracing_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	tracingapi "k8s.io/component-base/tracing/api/v1"

	"github.com/kube-lifeline/lifeline/operator/internal/planned"
	"github.com/kube-lifeline/lifeline/operator/tracing"
)

func TestPlannedIDs(t *testing.T) {
	rootID, spanID := trace.TraceID{7}, trace.SpanID{8}
	cases := map[string]struct {
		reason  string
		parent  trace.SpanContext
		options []trace.SpanStartOption
		traceID trace.TraceID
		spanID  trace.SpanID
		want    trace.TraceID // zero: random
	}{
		"root": {reason: "both IDs are used", traceID: rootID, spanID: spanID, want: rootID},
		"below a parent": {
			reason:  "the trace ID is the parent's",
			parent:  remote(trace.FlagsSampled),
			traceID: rootID,
			spanID:  spanID,
			want:    trace.TraceID{1},
		},
		"root despite one": {
			reason:  "a new root leaves the parent's trace",
			parent:  remote(trace.FlagsSampled),
			options: []trace.SpanStartOption{trace.WithNewRoot()},
			traceID: rootID,
			spanID:  spanID,
			want:    rootID,
		},
		"no trace planned":   {reason: "a random ID", spanID: spanID},
		"no span planned":    {reason: "a random ID", traceID: rootID, want: rootID},
		"neither is planned": {reason: "zero is not a valid ID"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			spans := tracetest.NewSpanRecorder()
			c := &tracingapi.TracingConfiguration{SamplingRatePerMillion: new(int32)}
			*c.SamplingRatePerMillion = all
			tr := start(t, tracing.Options{Enabled: true, Configuration: c, SpanProcessor: spans})
			tracer := tr.Tracer("test")

			ctx := planned.WithIDs(trace.ContextWithSpanContext(t.Context(), tc.parent), tc.traceID, tc.spanID)
			ctx, first := tracer.Start(ctx, "planned", tc.options...)
			got := first.SpanContext()
			if !got.IsValid() || tc.want.IsValid() && got.TraceID() != tc.want {
				t.Errorf("%s: trace %s, want %s", tc.reason, got.TraceID(), tc.want)
			}
			if tc.spanID.IsValid() && got.SpanID() != tc.spanID {
				t.Errorf("%s: span %s, want %s", tc.reason, got.SpanID(), tc.spanID)
			}
			ctx, second := tracer.Start(ctx, "below it")
			_, third := tracer.Start(ctx, "below that")
			seen := map[trace.SpanID]bool{}
			for _, s := range []trace.Span{first, second, third} {
				s.End()
				seen[s.SpanContext().SpanID()] = true
				if s.SpanContext().TraceID() != got.TraceID() {
					t.Errorf("%s: a child span is in trace %s", tc.reason, s.SpanContext().TraceID())
				}
			}
			if len(seen) != 3 || seen[trace.SpanID{}] {
				t.Errorf("%s: a plan is used once, but the spans are %v", tc.reason, seen)
			}
			if got := len(spans.Ended()); got != 3 {
				t.Errorf("%s: %d spans, want 3", tc.reason, got)
			}
		})
	}
}

func TestSampleRootAgreesWithTheSampler(t *testing.T) {
	tr := start(t, tracing.Options{SpanProcessor: tracetest.NewSpanRecorder()})
	tracer := tr.Tracer("test")
	random := rand.New(rand.NewPCG(1, 2))
	for _, perMillion := range []int32{0, 1, 100, 10_000, 500_000, 999_999, all} {
		set(t, tr, true, &tracingapi.TracingConfiguration{SamplingRatePerMillion: &perMillion})
		const roots = 5000
		sampled := 0
		for range roots {
			var id trace.TraceID
			binary.NativeEndian.PutUint64(id[:8], random.Uint64())
			binary.NativeEndian.PutUint64(id[8:], random.Uint64())
			_, span := tracer.Start(planned.WithIDs(t.Context(), id, trace.SpanID{1}), "root")
			span.End()
			want := tr.SampleRoot(id)
			if got := span.SpanContext().IsSampled(); got != want {
				t.Fatalf("at rate %d, trace %s: sampled = %v, SampleRoot = %v", perMillion, id, got, want)
			}
			if want {
				sampled++
			}
		}
		if share := sampled * (all / roots); share < int(perMillion)-30_000 || share > int(perMillion)+30_000 {
			t.Errorf("at rate %d, %d of %d roots were sampled", perMillion, sampled, roots)
		}
	}
}

func TestPlannedSampled(t *testing.T) {
	cases := map[string]struct {
		reason string
		parent trace.SpanContext
		plan   planned.Span
		want   bool
	}{
		"planned": {
			reason: "it follows from a sampled context",
			plan:   planned.Span{Sampled: true},
			want:   true,
		},
		"not planned": {reason: "the rate is 0"},
		"below an unsampled parent": {
			reason: "the parent decides about sampling",
			parent: remote(0),
			plan:   planned.Span{Sampled: true},
		},
		"below a sampled parent": {
			reason: "the parent decides about sampling",
			parent: remote(trace.FlagsSampled),
			want:   true,
		},
		"planned with all else": {
			reason: "planned IDs do not affect sampling",
			plan:   planned.Span{TraceID: trace.TraceID{7}, SpanID: trace.SpanID{8}, Sampled: true},
			want:   true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			spans := tracetest.NewSpanRecorder()
			tr := start(
				t,
				tracing.Options{Enabled: true, Configuration: &tracingapi.TracingConfiguration{}, SpanProcessor: spans},
			)
			ctx, span := tr.Tracer("test").Start(
				planned.With(trace.ContextWithSpanContext(t.Context(), tc.parent), tc.plan),
				"planned",
			)
			_, below := tr.Tracer("test").Start(ctx, "below it")
			below.End()
			span.End()
			if got := span.SpanContext().IsSampled(); got != tc.want {
				t.Errorf("%s: sampled = %v", tc.reason, got)
			}
			if got := len(spans.Ended()); tc.want != (got == 2) {
				t.Errorf("%s: got %d ended spans", tc.reason, got)
			}
		})
	}

	t.Run("without a configuration", func(t *testing.T) {
		tr := start(t, tracing.Options{Enabled: true})
		_, span := tr.Tracer("test").Start(planned.With(t.Context(), planned.Span{Sampled: true}), "planned")
		if span.SpanContext().IsSampled() {
			t.Error("a planned span is recorded without a configuration")
		}
	})
}
