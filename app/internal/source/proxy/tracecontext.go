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
	// baggageKey is the baggage member that carries a write's context to where
	// an API server that trusts nobody drops traceparent: into admission.
	baggageKey = "lifeline"
	// maxBaggage is what W3C asks everybody to carry.
	maxBaggage = 8192
)

// carry puts the write's context on its request and returns it. What the
// command itself sent stays as it is: its traceparent, its tracestate, its
// baggage. A traceparent of the command's names the write only if it is of the
// run's trace.
func (p *Proxy) carry(header http.Header) string {
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.HeaderCarrier(header))
	sent := trace.SpanContextFromContext(ctx)
	if sent.IsValid() && sent.TraceID() == p.opts.Trace.TraceID() {
		p.addBaggage(header, header.Get("traceparent"))
		return header.Get("traceparent")
	}
	own := p.opts.Trace.WithSpanID(newSpanID()).WithRemote(false)
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(context.Background(), own), carrier)
	parent := carrier["traceparent"]
	if !sent.IsValid() {
		header.Set("traceparent", parent)
		if state := carrier["tracestate"]; state != "" && header.Get("tracestate") == "" {
			header.Set("tracestate", state)
		}
	}
	p.addBaggage(header, parent)
	return parent
}

func (p *Proxy) addBaggage(header http.Header, value string) {
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
