// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

const (
	// member is our name in baggage and in tracestate. In baggage it carries a
	// write's context past an API server that drops traceparent; in tracestate
	// it is a claim about one object, which says nothing about a request.
	member = "lifeline"
	// maxBaggage and maxMembers are what W3C asks everybody to carry; a reader
	// may drop what goes beyond.
	maxBaggage = 8192
	maxMembers = 64
)

// carry puts the span context and the baggage on a request's header. What the
// caller has set stays, except for a traceparent that is none. The caller's
// traceparent names the write only if it is of the same trace.
func carry(header http.Header, sc trace.SpanContext, bag baggage.Baggage) {
	var own fields
	sc = sc.WithTraceState(sc.TraceState().Delete(member))
	propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(context.Background(), sc), &own)

	named := own.traceparent
	sent := sentContext(header)
	switch {
	case !sent.IsValid():
		header.Set("Traceparent", own.traceparent)
		if own.tracestate != "" && header.Get("Tracestate") == "" {
			header.Set("Tracestate", own.tracestate)
		}
	case sent.TraceID() == sc.TraceID():
		named = header.Get("Traceparent")
	}
	addBaggage(header, named, bag)
}

func sentContext(header http.Header) trace.SpanContext {
	if header.Get("Traceparent") == "" {
		return trace.SpanContext{}
	}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(
		context.Background(), propagation.HeaderCarrier(header)))
}

// addBaggage adds our member and then, unless the caller has set a baggage of
// its own, as many whole members of the context's as there is room for, in the
// order of their keys. Ours comes after the caller's, so that it counts if the
// caller handed on an older one.
func addBaggage(header http.Header, named string, bag baggage.Baggage) {
	room, members, callers := maxBaggage, maxMembers, false
	for _, have := range header.Values("Baggage") {
		if have != "" {
			callers = true
			room -= len(have) + len(",")
			members -= 1 + strings.Count(have, ",")
		}
	}
	line := member + "=" + named
	if len(line) > room || members <= 0 {
		return
	}
	if !callers && bag.Len() > 0 {
		line = fill(line, room, members, bag)
	}
	header.Add("Baggage", line)
}

// fill appends to the line what fits.
func fill(line string, room, members int, bag baggage.Baggage) string {
	var all strings.Builder
	all.WriteString(line)
	have := bag.Members()
	slices.SortFunc(have, func(a, b baggage.Member) int { return strings.Compare(a.Key(), b.Key()) })
	for _, m := range have {
		text := m.String()
		if text == "" || m.Key() == member { // not W3C, or of an earlier request
			continue
		}
		if members == 1 { // ours
			break
		}
		if all.Len()+len(",")+len(text) <= room {
			all.WriteString(",")
			all.WriteString(text)
			members--
		}
	}
	return all.String()
}

// fields is the carrier that OpenTelemetry's propagator writes into.
type fields struct{ traceparent, tracestate string }

// Get returns a field.
func (f *fields) Get(key string) string {
	switch key {
	case "traceparent":
		return f.traceparent
	case "tracestate":
		return f.tracestate
	}
	return ""
}

// Set keeps the fields of the W3C trace context.
func (f *fields) Set(key, value string) {
	switch key {
	case "traceparent":
		f.traceparent = value
	case "tracestate":
		f.tracestate = value
	}
}

// Keys names the fields.
func (f *fields) Keys() []string { return []string{"traceparent", "tracestate"} }
