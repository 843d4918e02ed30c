// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// decode is the reverse of encode: it fills s. by is the span's other component; nil for Lifeline.
func decode(s *span.Span, data []byte, by *maker) error {
	var in tracepb.Span
	if err := proto.Unmarshal(data, &in); err != nil {
		return err
	}
	s.Attributes = span.FromKeyValues(in.GetAttributes())
	s.DroppedEvents = int(in.GetDroppedEventsCount())
	for _, e := range in.GetEvents() {
		out := span.Event{Name: e.GetName(), Attributes: span.FromKeyValues(e.GetAttributes())}
		if ns := e.GetTimeUnixNano(); ns != 0 {
			out.Time = moment(int64(ns)) //nolint:gosec // all 64 bits come back
		}
		s.Events = append(s.Events, out)
	}
	for _, l := range in.GetLinks() {
		s.Links = append(s.Links, span.NewLink(
			traceID(l.GetTraceId()), spanID(l.GetSpanId()), span.FromKeyValues(l.GetAttributes()),
		))
	}
	if by != nil {
		s.Origin = &span.Origin{
			TraceID: traceID(in.GetTraceId()), Parent: spanID(in.GetParentSpanId()),
			Kind: trace.SpanKind(in.GetKind()), TraceState: in.GetTraceState(), Scope: by.scope, Resource: by.resource,
		}
	}
	return nil
}

// traceID and spanID return the zero ID for invalid bytes.
func traceID(raw []byte) (id trace.TraceID) {
	copy(id[:], raw)
	return id
}

func spanID(raw []byte) (id trace.SpanID) {
	copy(id[:], raw)
	return id
}
