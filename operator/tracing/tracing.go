// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	tracingapi "k8s.io/component-base/tracing/api/v1"

	"github.com/kube-lifeline/lifeline/operator"
)

// Tracing is the tracer provider of an operator. Its methods are safe for concurrent use. The
// methods that make spans never block.
type Tracing struct {
	embedded.TracerProvider

	exporter  sdktrace.SpanExporter  // the user's, or nil
	processor sdktrace.SpanProcessor // the user's, or nil
	sdk       *sdktrace.TracerProvider
	state     atomic.Pointer[state] // never nil
	dropped   atomic.Int64

	mu     sync.Mutex // one switch at a time
	users  *sink      // for the user's exporter or processor; nil until first use
	closed bool
}

var _ operator.Provider = (*Tracing)(nil)

// New returns tracing with the given options. It does not connect: the first export does. Shutdown
// ends its goroutines.
func New(options Options) (*Tracing, error) {
	if options.Exporter != nil && options.SpanProcessor != nil {
		return nil, errors.New("cannot set up tracing: set either Exporter or SpanProcessor, not both")
	}
	attributes := options.Attributes
	if options.ServiceName != "" {
		attributes = append(attributes[:len(attributes):len(attributes)], semconv.ServiceName(options.ServiceName))
	}
	about, err := resource.New(
		context.Background(),
		resource.WithService(),
		resource.WithTelemetrySDK(),
		resource.WithFromEnv(),
		resource.WithAttributes(attributes...),
	)
	if err != nil { // for example a malformed variable; the resource has the other attributes
		otel.Handle(fmt.Errorf("cannot determine all resource attributes: %w", err))
	}
	t := &Tracing{exporter: options.Exporter, processor: options.SpanProcessor}
	t.state.Store(silent(operator.Off))
	t.sdk = sdktrace.NewTracerProvider(
		sdktrace.WithIDGenerator(ids{}),
		sdktrace.WithResource(about),
		sdktrace.WithSampler(following{t}),
		sdktrace.WithSpanProcessor(following{t}),
	)
	if err := t.Set(context.Background(), options.Enabled, options.Configuration); err != nil {
		return nil, err
	}
	return t, nil
}

// Tracer implements trace.TracerProvider. Later switches also apply to the returned tracer.
func (t *Tracing) Tracer(name string, options ...trace.TracerOption) trace.Tracer {
	return &tracer{of: t, made: t.sdk.Tracer(name, options...)}
}

// Mode implements operator.Provider.
func (t *Tracing) Mode() operator.Mode { return t.state.Load().mode }

// SampleRoot implements operator.Provider. It calls the sampler.
func (t *Tracing) SampleRoot(id trace.TraceID) bool {
	asked := sdktrace.SamplingParameters{ParentContext: context.Background(), TraceID: id}
	return t.state.Load().sampler.ShouldSample(asked).Decision == sdktrace.RecordAndSample
}

// Dropped returns the number of sampled spans that ended and were not delivered. Causes are a full
// queue, a failed or cancelled export, and tracing switched off in between. A batch that a backend
// accepted in part counts in full.
func (t *Tracing) Dropped() int64 { return t.dropped.Load() }

// Set switches tracing on or off, or to another configuration. Existing tracers follow at once.
// Then Set flushes the replaced exporter and closes its connection, until ctx ends. Give ctx a
// deadline, as for Shutdown. Dropped counts the spans lost in this way, and OpenTelemetry's error
// handler receives the error. A change of only the rate keeps the exporter.
//
// If Set returns an error, nothing has changed. The configuration was invalid, or Shutdown was
// called before.
func (t *Tracing) Set(ctx context.Context, enabled bool, configuration *tracingapi.TracingConfiguration) error {
	former, err := t.change(enabled, configuration)
	if err != nil {
		return fmt.Errorf("cannot set up tracing: %w", err)
	}
	if former == nil {
		return nil
	}
	end := former.Shutdown
	if former.users {
		end = former.ForceFlush
	}
	if err := end(ctx); err != nil {
		otel.Handle(fmt.Errorf("cannot flush the spans from before the switch: %w", err))
	}
	return nil
}

// change sets the next state and returns the replaced sink, or nil.
func (t *Tracing) change(enabled bool, configuration *tracingapi.TracingConfiguration) (*sink, error) {
	if errs := Validate(configuration, nil); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, errors.New("tracing was shut down")
	}
	former, next := t.state.Load().sink, silent(operator.Off)
	switch {
	case enabled && configuration == nil:
		next.mode = operator.Propagate
	case enabled:
		to, err := t.sinkFor(former, configuration)
		if err != nil {
			return nil, err
		}
		next = &state{mode: operator.Record, sampler: sampler(configuration), sink: to}
	}
	t.state.Store(next)
	if former == next.sink {
		return nil, nil
	}
	return former, nil
}

// sinkFor returns the former sink if it has the same endpoint, else a new one.
func (t *Tracing) sinkFor(former *sink, configuration *tracingapi.TracingConfiguration) (*sink, error) {
	if s := t.usersSink(); s != nil {
		return s, nil
	}
	endpoint := ""
	if configuration.Endpoint != nil {
		endpoint = *configuration.Endpoint
	}
	if former != nil && former.endpoint == endpoint {
		return former, nil
	}
	exporter, err := otlp(endpoint)
	if err != nil {
		return nil, err
	}
	return &sink{SpanProcessor: newPipeline(exporter, &t.dropped), endpoint: endpoint}, nil
}

// usersSink returns the sink for the user's exporter or processor, or nil. The caller holds mu.
func (t *Tracing) usersSink() *sink {
	if t.users == nil && t.processor != nil {
		t.users = &sink{SpanProcessor: t.processor, users: true}
	}
	if t.users == nil && t.exporter != nil {
		t.users = &sink{SpanProcessor: newPipeline(t.exporter, &t.dropped), users: true}
	}
	return t.users
}

// ForceFlush sends the queued spans, until ctx ends.
func (t *Tracing) ForceFlush(ctx context.Context) error {
	if s := t.state.Load().sink; s != nil {
		return s.ForceFlush(ctx)
	}
	return nil
}

// Shutdown switches tracing off permanently and sends the queued spans, until ctx ends. Give ctx a
// deadline: with an unreachable collector, Shutdown otherwise takes as long as the export timeouts.
// Calls after the first do nothing.
func (t *Tracing) Shutdown(ctx context.Context) error {
	last := t.end()
	if last == nil {
		return nil
	}
	return last.Shutdown(ctx)
}

// end switches off permanently and returns the sink to shut down.
func (t *Tracing) end() *sink {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	t.closed = true
	last := t.state.Load().sink
	if s := t.usersSink(); s != nil {
		last = s // even if tracing is off
	}
	t.state.Store(silent(operator.Off))
	return last
}
