// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"slices"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// encode returns an OTLP Span with the parts of a span that have no column. It is deterministic.
func encode(s *span.Span) ([]byte, error) {
	out := &tracepb.Span{Attributes: span.KeyValues(s.Attributes, text)}
	out.DroppedEventsCount = uint32(s.DroppedEvents) //nolint:gosec // a count
	for _, e := range s.Events {
		out.Events = append(out.Events, &tracepb.Span_Event{
			TimeUnixNano: eventNanos(e.Time), Name: text(e.Name), Attributes: span.KeyValues(e.Attributes, text),
		})
	}
	for _, l := range s.Links {
		out.Links = append(out.Links, &tracepb.Span_Link{
			TraceId:    slices.Clone(l.TraceID[:]),
			SpanId:     slices.Clone(l.SpanID[:]),
			Attributes: span.KeyValues(l.AllAttributes(), text),
		})
	}
	if o := s.Origin; o != nil {
		out.TraceId, out.ParentSpanId = slices.Clone(o.TraceID[:]), slices.Clone(o.Parent[:])
		//nolint:gosec // the same five numbers
		out.Kind, out.TraceState = tracepb.Span_SpanKind(o.Kind), text(o.TraceState)
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(out)
}

// eventNanos keeps all of int64 in OTLP's unsigned field, and 0 for no time.
func eventNanos(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(nanos(t)) //nolint:gosec // all 64 bits come back
}

// text returns s as valid text for SQLite and OTLP.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
