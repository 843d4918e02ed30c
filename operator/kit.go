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

// scope names the kit in the spans that it makes.
const scope = "github.com/kube-lifeline/lifeline/operator"

// Kit is what the parts of an operator share: where spans go, how contexts are
// written, and what is remembered of the objects. One serves a whole process.
// Its methods may be called from any goroutine.
type Kit struct {
	provider   trace.TracerProvider
	exact      Provider // nil if the provider takes no planned IDs
	tracer     trace.Tracer
	convention lifeline.Convention
	links      bool
	reads      bool
	converged  func(client.Object) bool
	clock      clock.PassiveClock
	scheme     atomic.Pointer[runtime.Scheme] // the manager's; nil before there is one

	informers informers
	writes    memory
	episodes  episodes
	triggers  *triggers
}

// Option changes what New makes.
type Option func(*Kit)

// WithTracerProvider sends spans there; by default to OpenTelemetry's global
// provider. With a Provider, which package tracing makes, a child carries the
// span context of the very write that made it; with any other it carries its
// parent's context, and what the operator writes to heal an object carries none.
func WithTracerProvider(p trace.TracerProvider) Option {
	return func(k *Kit) { k.provider = p }
}

// WithConvention writes contexts by this convention instead of the default one.
// All conventions are read.
func WithConvention(c lifeline.Convention) Option { return func(k *Kit) { k.convention = c } }

// WithLinks is link mode: reconciles are roots that link to the context of their
// object, in place of one trace for all. The reconciles of one object for one
// context share a trace.
func WithLinks() Option { return func(k *Kit) { k.links = true } }

// WithReads makes the requests that read from the API server carry the context,
// and spans of them in each reconcile that leaves a span. Reads that an informer
// answers are none.
func WithReads() Option { return func(k *Kit) { k.reads = true } }

// WithConverged replaces the test whether an object has reached its desired
// state, for all kinds that are reconciled: what is written after that heals it,
// in a trace of its own. By default it has if its status is of its generation
// and the conditions Ready and Available, of which it has one at least, are True.
func WithConverged(converged func(client.Object) bool) Option {
	return func(k *Kit) { k.converged = converged }
}

// WithClock replaces the clock, for tests.
func WithClock(c clock.PassiveClock) Option { return func(k *Kit) { k.clock = c } }

// New returns a kit, for those who decorate the parts themselves, with Config,
// Options, Client and Webhook. NewManager does it all.
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

// mode is what the kit may do now.
func (k *Kit) mode() Mode {
	if k.exact != nil {
		return k.exact.Mode()
	}
	if _, none := k.provider.(noop.TracerProvider); none {
		return Off
	}
	return Record
}
