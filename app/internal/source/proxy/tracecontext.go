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
	// baggageKey is the baggage member with the run's context. It reaches admission even if the API
	// server does not trust the client and drops traceparent.
	baggageKey = "lifeline"
	// maxBaggage is the size, in bytes, that every implementation of W3C Baggage must propagate.
	maxBaggage = 8192
)

// carry sets the write's traceparent on its request and returns it. It also adds the run's context
// as baggage, so spans from admission are children of the run. The command's own traceparent,
// tracestate and baggage stay. If the command's traceparent is in the run's trace, carry returns
// that one. Otherwise the returned context identifies the write even if the request carries
// another.
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

// fields returns the header fields of a span context.
func fields(sc trace.SpanContext) propagation.MapCarrier {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(context.Background(), sc), carrier)
	return carrier
}

// addBaggage appends the run's member to the command's baggage, unless the result is too long.
func addBaggage(header http.Header, value string) {
	size := 0
	for _, have := range header.Values("baggage") {
		size += len(have)
	}
	if size+len(baggageKey)+len(value)+2 <= maxBaggage {
		header.Add("baggage", baggageKey+"="+value)
	}
}

// newSpanID returns a random span ID.
func newSpanID() trace.SpanID {
	var id trace.SpanID
	for !id.IsValid() {
		_, _ = rand.Read(id[:]) // never fails
	}
	return id
}
