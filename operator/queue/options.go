// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/utils/clock"

	"github.com/kube-lifeline/lifeline"
)

// scope names this package as the source of its spans.
const scope = "github.com/kube-lifeline/lifeline/operator/queue"

// Option changes how a queue is traced.
type Option func(*settings)

type settings struct {
	clock      clock.PassiveClock
	controller string
	provider   trace.TracerProvider
	tracer     trace.Tracer
}

// WithClock sets the clock; it should be the one of the wrapped queue. The
// default is the system's.
func WithClock(c clock.PassiveClock) Option {
	return func(s *settings) { s.clock = c }
}

// WithController names the controller in the names of spans. The default is
// "controller".
func WithController(name string) Option {
	return func(s *settings) {
		if name != "" {
			s.controller = name
		}
	}
}

// WithTracerProvider sets where spans go. The default is OpenTelemetry's global
// provider.
func WithTracerProvider(provider trace.TracerProvider) Option {
	return func(s *settings) { s.provider = provider }
}

func settle(opts []Option) settings {
	s := settings{clock: clock.RealClock{}, controller: "controller", provider: otel.GetTracerProvider()}
	for _, o := range opts {
		o(&s)
	}
	s.tracer = s.provider.Tracer(scope, trace.WithSchemaURL(lifeline.SchemaURL))
	return s
}
