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
	// member is the project's key in baggage and in tracestate. In baggage it carries a write's
	// context past an API server that drops traceparent. In tracestate it is a claim about one
	// object, which must not be part of a request.
	member = "lifeline"
	// maxBaggage and maxMembers are the minimum that W3C requires receivers to accept. A receiver
	// may drop anything beyond.
	maxBaggage = 8192
	maxMembers = 64
)

// carry sets the span context and the baggage in a request's header. It keeps the caller's values,
// but replaces an invalid traceparent. The caller's traceparent identifies the write only if it has
// the same trace ID.
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

// addBaggage adds our member. If the caller has set no baggage, it also adds members of the
// context's baggage, in key order, while they fit. Our member comes after the caller's, and so
// overrides an older one that the caller passed on.
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

// fill appends the members that fit to the line.
func fill(line string, room, members int, bag baggage.Baggage) string {
	var all strings.Builder
	all.WriteString(line)
	have := bag.Members()
	slices.SortFunc(have, func(a, b baggage.Member) int { return strings.Compare(a.Key(), b.Key()) })
	for _, m := range have {
		text := m.String()
		if text == "" || m.Key() == member { // invalid by W3C, or from an earlier request
			continue
		}
		if members == 1 { // the remaining one is ours
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

// fields is the carrier for OpenTelemetry's propagator.
type fields struct{ traceparent, tracestate string }

// Get returns the value of a field.
func (f *fields) Get(key string) string {
	switch key {
	case "traceparent":
		return f.traceparent
	case "tracestate":
		return f.tracestate
	}
	return ""
}

// Set stores a field of the W3C trace context.
func (f *fields) Set(key, value string) {
	switch key {
	case "traceparent":
		f.traceparent = value
	case "tracestate":
		f.tracestate = value
	}
}

// Keys returns the names of the fields.
func (f *fields) Keys() []string { return []string{"traceparent", "tracestate"} }
