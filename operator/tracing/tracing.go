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

// Tracing makes an operator's spans. Its methods may be called from any
// goroutine at any time; none of those that make spans ever waits.
type Tracing struct {
	embedded.TracerProvider

	exporter  sdktrace.SpanExporter  // the user's, or nil
	processor sdktrace.SpanProcessor // the user's, or nil
	sdk       *sdktrace.TracerProvider
	state     atomic.Pointer[state] // never nil
	dropped   atomic.Int64

	mu     sync.Mutex // one switch at a time
	users  *sink      // made of what the user brought; nil until it is needed
	closed bool
}

var _ operator.Provider = (*Tracing)(nil)

// New returns tracing as the options want it. It dials nothing: that happens
// when the first spans are sent. Shutdown ends what it started.
func New(options Options) (*Tracing, error) {
	if options.Exporter != nil && options.SpanProcessor != nil {
		return nil, errors.New("cannot set up tracing: Exporter and SpanProcessor exclude each other")
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
	if err != nil { // a variable is malformed, say; the rest is there
		otel.Handle(fmt.Errorf("cannot describe the operator in full: %w", err))
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

// Tracer implements trace.TracerProvider. The tracer follows later switches.
func (t *Tracing) Tracer(name string, options ...trace.TracerOption) trace.Tracer {
	return &tracer{of: t, made: t.sdk.Tracer(name, options...)}
}

// Mode implements operator.Provider.
func (t *Tracing) Mode() operator.Mode { return t.state.Load().mode }

// SampleRoot implements operator.Provider: it asks the sampler itself.
func (t *Tracing) SampleRoot(id trace.TraceID) bool {
	asked := sdktrace.SamplingParameters{ParentContext: context.Background(), TraceID: id}
	return t.state.Load().sampler.ShouldSample(asked).Decision == sdktrace.RecordAndSample
}

// Dropped returns how many sampled spans were ended and never delivered: the
// queue was full, the export failed or was given up, or tracing was switched off
// meanwhile. A batch that a backend took in part counts in full.
func (t *Tracing) Dropped() int64 { return t.dropped.Load() }

// Set switches tracing on or off, or to another configuration. Tracers that
// exist follow at once. Set then flushes the exporter that is no longer used and
// closes its connection, until ctx ends: give it a deadline, as to Shutdown.
// Spans that are lost so are counted by Dropped, and the error goes to
// OpenTelemetry's error handler. A change of the rate alone keeps the exporter.
//
// If Set returns an error, the configuration was refused or Shutdown was called
// before, and everything is as it was.
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
		otel.Handle(fmt.Errorf("cannot flush tracing before the switch: %w", err))
	}
	return nil
}

// change puts the next state in place and returns the sink that it left unused.
func (t *Tracing) change(enabled bool, configuration *tracingapi.TracingConfiguration) (*sink, error) {
	if errs := Validate(configuration, nil); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, errors.New("it has been shut down")
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

// sinkFor returns the former sink if it serves, else a new one.
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

// usersSink returns the one sink for what the user brought, or nil. Who calls it
// holds the lock.
func (t *Tracing) usersSink() *sink {
	if t.users == nil && t.processor != nil {
		t.users = &sink{SpanProcessor: t.processor, users: true}
	}
	if t.users == nil && t.exporter != nil {
		t.users = &sink{SpanProcessor: newPipeline(t.exporter, &t.dropped), users: true}
	}
	return t.users
}

// ForceFlush sends what is queued, until ctx ends.
func (t *Tracing) ForceFlush(ctx context.Context) error {
	if s := t.state.Load().sink; s != nil {
		return s.ForceFlush(ctx)
	}
	return nil
}

// Shutdown switches tracing off for good and sends what is queued, until ctx
// ends: give it a deadline, since a collector that is down is otherwise waited
// for as long as its time limits say. Calls after the first do nothing.
func (t *Tracing) Shutdown(ctx context.Context) error {
	last := t.end()
	if last == nil {
		return nil
	}
	return last.Shutdown(ctx)
}

// end switches off for good and returns the sink that is to be shut down.
func (t *Tracing) end() *sink {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	t.closed = true
	last := t.state.Load().sink
	if s := t.usersSink(); s != nil {
		last = s // though tracing may be off
	}
	t.state.Store(silent(operator.Off))
	return last
}
