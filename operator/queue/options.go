// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/utils/clock"

	"github.com/kube-lifeline/lifeline"
)

// scope is the instrumentation scope of this package's spans.
const scope = "github.com/kube-lifeline/lifeline/operator/queue"

// Option configures the tracing of a queue.
type Option func(*settings)

type settings struct {
	clock      clock.PassiveClock
	controller string
	provider   trace.TracerProvider
	tracer     trace.Tracer
}

// WithClock sets the clock, which should be the wrapped queue's. The default is the system clock.
func WithClock(c clock.PassiveClock) Option {
	return func(s *settings) { s.clock = c }
}

// WithController sets the controller's name in span names. The default is "controller".
func WithController(name string) Option {
	return func(s *settings) {
		if name != "" {
			s.controller = name
		}
	}
}

// WithTracerProvider sets the destination of spans. The default is OpenTelemetry's global provider.
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
