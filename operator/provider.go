// SPDX-License-Identifier: Apache-2.0

package operator

import "go.opentelemetry.io/otel/trace"

// Mode is the current operating mode of a Kit.
type Mode int

// The modes of a Kit.
const (
	// Off means no spans and no propagation.
	Off Mode = iota
	// Propagate means that existing contexts are passed on, without spans.
	Propagate
	// Record means that spans are made, subject to the sampler.
	Record
)

// Provider is a TracerProvider with planned span IDs, as from package tracing. It starts a span
// with the IDs that the Kit planned, and reports its mode and sampling decision beforehand. Its
// methods are safe for concurrent use.
type Provider interface {
	trace.TracerProvider
	// Mode returns the current mode, which may change at runtime.
	Mode() Mode
	// SampleRoot reports whether a root span with this trace ID would be sampled.
	SampleRoot(id trace.TraceID) bool
}
