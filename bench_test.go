// SPDX-License-Identifier: Apache-2.0

package lifeline

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// benchState is a tracestate with a claim. The benchmarks named OTel run OpenTelemetry's propagator
// with the same context, for comparison. Its Extract reads from a map without other keys;
// Lifeline's reads among the annotations of a Deployment.
const benchState = "lifeline=s:00f067aa0ba902b7;p:53995c3f42cd8ad8;" +
	"o:0123456789abcdef;d:fedcba9876543210;g:3;t:1767225600"

// beside returns typical other annotations of an object.
func beside() map[string]string {
	return map[string]string{
		"deployment.kubernetes.io/revision":                "3",
		"kubectl.kubernetes.io/last-applied-configuration": `{"apiVersion":"apps/v1","kind":"Deployment"}`,
		"meta.helm.sh/release-name":                        "shop",
		"meta.helm.sh/release-namespace":                   "default",
		"argocd.argoproj.io/tracking-id":                   "shop:apps/Deployment:default/web",
		"kubernetes.io/change-cause":                       "image updated",
	}
}

var (
	sinkContext context.Context
	sinkSpan    trace.SpanContext
)

func BenchmarkExtract(b *testing.B) {
	b.Run("OTel", func(b *testing.B) {
		carrier := propagation.MapCarrier{"traceparent": goodParent, "tracestate": benchState}
		b.ReportAllocs()
		for b.Loop() {
			sinkContext = propagation.TraceContext{}.Extract(context.Background(), carrier)
		}
	})
	b.Run("Lifeline", func(b *testing.B) {
		obj := Annotations(beside())
		obj[ContextKey], obj[StateKey] = goodParent, benchState
		b.ReportAllocs()
		for b.Loop() {
			sinkSpan = Extract(&obj)
		}
	})
	b.Run("LifelineContext", func(b *testing.B) {
		obj := Annotations(beside())
		obj[ContextKey], obj[StateKey] = goodParent, benchState
		b.ReportAllocs()
		for b.Loop() {
			sinkContext = Context(context.Background(), &obj)
		}
	})
	b.Run("LifelineAbsent", func(b *testing.B) {
		obj := Annotations(beside())
		b.ReportAllocs()
		for b.Loop() {
			sinkSpan = Extract(&obj)
		}
	})
	b.Run("LifelineLast", func(b *testing.B) {
		obj := Annotations(beside())
		obj["uber-trace-id"] = "4bf92f3577b34da6a3ce929d0e0e4736:00f067aa0ba902b7:0:1"
		b.ReportAllocs()
		for b.Loop() {
			sinkSpan = Extract(&obj)
		}
	})
}

func BenchmarkInject(b *testing.B) {
	sc := Extract(&Annotations{ContextKey: goodParent, StateKey: benchState})
	ctx := trace.ContextWithSpanContext(context.Background(), sc)
	b.Run("OTel", func(b *testing.B) {
		// Inject into a copy of the annotations, as cached objects require.
		b.ReportAllocs()
		for b.Loop() {
			carrier := propagation.MapCarrier{}
			for k, v := range benchBeside {
				carrier[k] = v
			}
			propagation.TraceContext{}.Inject(ctx, carrier)
		}
	})
	b.Run("OTelInPlace", func(b *testing.B) {
		carrier := propagation.MapCarrier(beside())
		b.ReportAllocs()
		for b.Loop() {
			propagation.TraceContext{}.Inject(ctx, carrier)
		}
	})
	b.Run("Lifeline", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			obj := Annotations(benchBeside)
			Inject(ctx, &obj)
		}
	})
}

var benchBeside = beside()
