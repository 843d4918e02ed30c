// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"context"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracingapi "k8s.io/component-base/tracing/api/v1"

	"github.com/kube-lifeline/lifeline/operator"
	"github.com/kube-lifeline/lifeline/operator/internal/planned"
)

// state is the current behaviour of Tracing. It is immutable; a switch replaces it.
type state struct {
	mode    operator.Mode
	sampler sdktrace.Sampler // never nil
	sink    *sink            // nil if no spans are made
}

// sink receives the finished spans.
type sink struct {
	sdktrace.SpanProcessor
	endpoint string // from the configuration; may be empty
	users    bool   // it belongs to the user and outlives a switch
}

// silent returns a state without spans.
func silent(mode operator.Mode) *state {
	return &state{mode: mode, sampler: sdktrace.NeverSample()}
}

// sampler returns a sampler that follows the parent. Without a parent it samples the configured
// share of traces, like Kubernetes' components.
func sampler(configuration *tracingapi.TracingConfiguration) sdktrace.Sampler {
	root := sdktrace.NeverSample()
	if rate := configuration.SamplingRatePerMillion; rate != nil && *rate > 0 {
		root = sdktrace.TraceIDRatioBased(float64(*rate) / 1_000_000)
	}
	return sdktrace.ParentBased(root)
}

// following is the sampler and the processor of the SDK. Each call uses the current state.
type following struct{ of *Tracing }

// ShouldSample implements sdktrace.Sampler. A root that is planned as sampled is sampled at any
// rate, because it follows from a sampled context.
func (f following) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	s := f.of.state.Load()
	if s.mode == operator.Record && !trace.SpanContextFromContext(p.ParentContext).IsValid() {
		if plan, _ := planned.Of(p.ParentContext); plan.Sampled {
			return sdktrace.SamplingResult{Decision: sdktrace.RecordAndSample}
		}
	}
	return s.sampler.ShouldSample(p)
}

// Description implements sdktrace.Sampler.
func (following) Description() string { return "TracingConfiguration" }

// OnStart implements sdktrace.SpanProcessor.
func (f following) OnStart(ctx context.Context, span sdktrace.ReadWriteSpan) {
	if s := f.of.state.Load().sink; s != nil {
		s.OnStart(ctx, span)
	}
}

// OnEnd implements sdktrace.SpanProcessor.
func (f following) OnEnd(span sdktrace.ReadOnlySpan) {
	if s := f.of.state.Load().sink; s != nil {
		s.OnEnd(span)
		return
	}
	f.of.dropped.Add(1) // started before tracing was switched off
}

// Shutdown implements sdktrace.SpanProcessor.
func (f following) Shutdown(ctx context.Context) error { return f.of.Shutdown(ctx) }

// ForceFlush implements sdktrace.SpanProcessor.
func (f following) ForceFlush(ctx context.Context) error { return f.of.ForceFlush(ctx) }
