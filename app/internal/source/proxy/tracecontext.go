// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"crypto/rand"
	"net/http"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

const (
	// baggageKey is the baggage member that carries a run's context to where an
	// API server that trusts nobody drops traceparent: into admission.
	baggageKey = "lifeline"
	// maxBaggage is what W3C asks everybody to carry.
	maxBaggage = 8192
)

// carry puts the write's context on its request and returns it, and the run's
// beside it as baggage: what admission makes of the write is below the run, as the
// write is. What the command itself sent stays as it is: its traceparent, its
// tracestate, its baggage. A traceparent of the command's names the write only if
// it is of the run's trace.
func (p *Proxy) carry(header http.Header) string {
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.HeaderCarrier(header))
	sent := trace.SpanContextFromContext(ctx)
	addBaggage(header, fields(p.opts.Trace)["traceparent"])
	if sent.IsValid() && sent.TraceID() == p.opts.Trace.TraceID() {
		return header.Get("traceparent")
	}
	own := fields(p.opts.Trace.WithSpanID(newSpanID()).WithRemote(false))
	parent := own["traceparent"]
	if !sent.IsValid() {
		header.Set("traceparent", parent)
		if state := own["tracestate"]; state != "" && header.Get("tracestate") == "" {
			header.Set("tracestate", state)
		}
	}
	return parent
}

// fields are the header fields of a context.
func fields(sc trace.SpanContext) propagation.MapCarrier {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(context.Background(), sc), carrier)
	return carrier
}

// addBaggage adds our member after the caller's own.
func addBaggage(header http.Header, value string) {
	size := 0
	for _, have := range header.Values("baggage") {
		size += len(have)
	}
	if size+len(baggageKey)+len(value)+2 <= maxBaggage {
		header.Add("baggage", baggageKey+"="+value)
	}
}

// newSpanID gives a random span ID.
func newSpanID() trace.SpanID {
	var id trace.SpanID
	for !id.IsValid() {
		_, _ = rand.Read(id[:]) // never fails
	}
	return id
}
