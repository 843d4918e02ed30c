// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"sync/atomic"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-lifeline/lifeline"
)

// scope is the instrumentation scope of the kit's spans.
const scope = "github.com/kube-lifeline/lifeline/operator"

// Kit is the shared state of an operator's parts: the destination of spans, the format of contexts,
// and a memory of recent objects. A process needs only one. Its methods are safe for concurrent
// use.
type Kit struct {
	provider   trace.TracerProvider
	exact      Provider // nil if the provider does not accept planned IDs
	tracer     trace.Tracer
	convention lifeline.Convention
	links      bool
	reads      bool
	converged  func(client.Object) bool
	clock      clock.PassiveClock
	scheme     atomic.Pointer[runtime.Scheme] // of the manager; nil before the manager creates its cache

	informers informers
	writes    memory
	episodes  episodes
	triggers  *triggers
}

// Option configures a Kit.
type Option func(*Kit)

// WithTracerProvider sets the destination of spans. The default is OpenTelemetry's global provider.
// With a Provider from package tracing, a child carries the span context of the write that created
// it. With any other provider, the child carries its parent's context, and writes that heal an
// object carry none.
func WithTracerProvider(p trace.TracerProvider) Option {
	return func(k *Kit) { k.provider = p }
}

// WithConvention sets the convention for writing contexts. All conventions are read.
func WithConvention(c lifeline.Convention) Option { return func(k *Kit) { k.convention = c } }

// WithLinks turns on link mode. A reconcile is then a root span with a link to the context of its
// object, not a part of the same trace. The reconciles of one object for one context share a trace.
func WithLinks() Option { return func(k *Kit) { k.links = true } }

// WithReads also traces read requests to the API server. They carry the context, and have spans in
// each reconcile with a span. Reads from an informer's cache are not traced.
func WithReads() Option { return func(k *Kit) { k.reads = true } }

// WithConverged replaces the test for convergence, for all reconciled kinds. A later write to a
// converged object heals it, in a separate trace. By default, an object has converged if its status
// is of its generation and its conditions Ready and Available are True. It needs at least one of
// the two.
func WithConverged(converged func(client.Object) bool) Option {
	return func(k *Kit) { k.converged = converged }
}

// WithClock replaces the clock, for tests.
func WithClock(c clock.PassiveClock) Option { return func(k *Kit) { k.clock = c } }

// New returns a Kit for manual setup with Config, Options, Client and Webhook. NewManager does all
// of that.
func New(opts ...Option) *Kit {
	k := &Kit{convention: lifeline.Default, converged: converged, clock: clock.RealClock{}}
	for _, o := range opts {
		o(k)
	}
	if k.provider == nil {
		k.provider = otel.GetTracerProvider()
	}
	k.exact, _ = k.provider.(Provider)
	k.tracer = k.provider.Tracer(scope, trace.WithSchemaURL(lifeline.SchemaURL))
	k.writes = newMemory()
	k.episodes = newEpisodes()
	k.triggers = newTriggers()
	return k
}

// mode returns the current mode.
func (k *Kit) mode() Mode {
	if k.exact != nil {
		return k.exact.Mode()
	}
	if _, none := k.provider.(noop.TracerProvider); none {
		return Off
	}
	return Record
}
