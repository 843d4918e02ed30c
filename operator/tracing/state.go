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

// state is what Tracing does at the moment. It never changes: a switch puts
// another in its place.
type state struct {
	mode    operator.Mode
	sampler sdktrace.Sampler // never nil
	sink    *sink            // nil unless spans are made
}

// sink takes the spans that were made.
type sink struct {
	sdktrace.SpanProcessor
	endpoint string // what the configuration said; empty: nothing
	users    bool   // it is the user's, which outlives a switch
}

// silent is the state in which no span is made.
func silent(mode operator.Mode) *state {
	return &state{mode: mode, sampler: sdktrace.NeverSample()}
}

// sampler follows the parent. Without one it takes the configured share of
// traces, as Kubernetes' components do.
func sampler(configuration *tracingapi.TracingConfiguration) sdktrace.Sampler {
	root := sdktrace.NeverSample()
	if rate := configuration.SamplingRatePerMillion; rate != nil && *rate > 0 {
		root = sdktrace.TraceIDRatioBased(float64(*rate) / 1_000_000)
	}
	return sdktrace.ParentBased(root)
}

// following is the sampler and the processor that the SDK knows: whatever the
// state is at each call.
type following struct{ of *Tracing }

// ShouldSample implements sdktrace.Sampler. A root that was planned to be sampled
// is, whatever the rate: it follows from a context that was.
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
	f.of.dropped.Add(1) // it began before tracing was switched off
}

// Shutdown implements sdktrace.SpanProcessor.
func (f following) Shutdown(ctx context.Context) error { return f.of.Shutdown(ctx) }

// ForceFlush implements sdktrace.SpanProcessor.
func (f following) ForceFlush(ctx context.Context) error { return f.of.ForceFlush(ctx) }
