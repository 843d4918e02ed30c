// SPDX-License-Identifier: Apache-2.0

package operator

import "go.opentelemetry.io/otel/trace"

// Mode is what the kit may do at the moment.
type Mode int

// What the kit may do.
const (
	// Off: nothing is generated and nothing propagated.
	Off Mode = iota
	// Propagate: contexts that exist are handed on; no span is made.
	Propagate
	// Record: spans are made, as far as the sampler wants them.
	Record
)

// Provider is what package tracing makes, and what the kit is exact with: a
// TracerProvider that starts a span with the IDs that the kit has planned for it
// and that says beforehand what it will do. Its methods may be called at any
// time from any goroutine.
type Provider interface {
	trace.TracerProvider
	// Mode may change while the operator runs.
	Mode() Mode
	// SampleRoot tells whether a root span of this trace would be sampled.
	SampleRoot(id trace.TraceID) bool
}
