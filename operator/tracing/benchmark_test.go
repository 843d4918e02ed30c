// SPDX-License-Identifier: Apache-2.0

package tracing_test

import (
	"context"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracingapi "k8s.io/component-base/tracing/api/v1"
	"k8s.io/utils/ptr"

	"github.com/kube-lifeline/lifeline/operator/tracing"
)

// discard is an exporter without cost.
type discard struct{}

func (discard) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (discard) Shutdown(context.Context) error                             { return nil }

// BenchmarkStart measures the start and end of a span. SDK is the same without this package.
func BenchmarkStart(b *testing.B) {
	c := &tracingapi.TracingConfiguration{SamplingRatePerMillion: ptr.To[int32](all)}
	unsampled := &tracingapi.TracingConfiguration{}
	for name, o := range map[string]tracing.Options{
		"off":       {},
		"propagate": {Enabled: true},
		"unsampled": {Enabled: true, Configuration: unsampled, Exporter: discard{}},
		"sampled":   {Enabled: true, Configuration: c, Exporter: discard{}},
	} {
		b.Run(name, func(b *testing.B) {
			tr, err := tracing.New(o)
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = tr.Shutdown(b.Context()) }()
			measure(b, tr)
		})
	}
	b.Run("SDK", func(b *testing.B) {
		tr := sdktrace.NewTracerProvider(sdktrace.WithBatcher(discard{}))
		defer func() { _ = tr.Shutdown(b.Context()) }()
		measure(b, tr)
	})
}

func measure(b *testing.B, provider trace.TracerProvider) {
	b.Helper()
	tracer := provider.Tracer("test")
	b.ReportAllocs()
	for b.Loop() {
		_, span := tracer.Start(b.Context(), "root")
		span.End()
	}
}
