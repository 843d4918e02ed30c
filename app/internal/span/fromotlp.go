// SPDX-License-Identifier: Apache-2.0

package span

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// maxSpans limits the spans that FromOTLP accepts.
const maxSpans = 1_000_000

// FromOTLP is the inverse of ToOTLP for one trace. Lifeline's own spans return unchanged, except that
// OTLP has no Facts; open spans are ended as by EndOpen. OTLP lacks the outcome and the reason of the
// whole trace, so these stay empty. The spans are in tree order.
//
// Spans of other components, with any other scope than ScopeName, get an Origin. Spans without
// valid IDs are dropped, and so are later spans with the same ID. A missing parent counts as
// outside, unless the span's flags specify it. A span that is its own ancestor becomes a root.
// FromOTLP returns an error for no spans, for spans of several traces, and for more than maxSpans.
func FromOTLP(all []*tracepb.ResourceSpans) (*Trace, error) {
	t := &Trace{}
	known := map[trace.SpanID]bool{}
	var vague []*Span // their flags do not tell a local parent from an outside one
	for _, rs := range all {
		service := serviceOf(rs)
		var from *Resource
		for _, ss := range rs.GetScopeSpans() {
			for _, in := range ss.GetSpans() {
				s := fromSpan(in, service)
				if s == nil {
					continue
				}
				if ss.GetScope().GetName() != ScopeName {
					if from == nil {
						from = &Resource{
							SchemaURL: rs.GetSchemaUrl(), Attributes: FromKeyValues(rs.GetResource().GetAttributes()),
						}
					}
					s.fromElsewhere(in, ss, from)
				}
				if !t.ID.IsValid() {
					t.ID = s.TraceID
				}
				switch {
				case s.TraceID != t.ID:
					return nil, fmt.Errorf("cannot read one trace: there are spans of %s and of %s", t.ID, s.TraceID)
				case known[s.ID]:
					continue
				case len(t.Spans) == maxSpans:
					return nil, fmt.Errorf("cannot read trace %s: it has more than %d spans", t.ID, maxSpans)
				}
				known[s.ID] = true
				t.Spans = append(t.Spans, s)
				if in.GetFlags()&flagKnowsRemote == 0 {
					vague = append(vague, s)
				}
			}
		}
	}
	if len(t.Spans) == 0 {
		return nil, errors.New("cannot read a trace: there is no span with valid IDs")
	}
	for _, s := range vague {
		s.RemoteParent = s.Parent.IsValid() && !known[s.Parent]
	}
	t.Spans = TreeOrder(t.Spans)
	return t, nil
}

func serviceOf(rs *tracepb.ResourceSpans) string {
	for _, kv := range rs.GetResource().GetAttributes() {
		if name := kv.GetValue().GetStringValue(); kv.GetKey() == "service.name" && name != unknownService {
			return name
		}
	}
	return ""
}

// fromSpan returns nil for a span without valid IDs.
func fromSpan(in *tracepb.Span, service string) *Span {
	s := &Span{Name: in.GetName(), Service: service, RemoteParent: in.GetFlags()&flagRemote != 0}
	if len(in.GetTraceId()) != len(s.TraceID) || len(in.GetSpanId()) != len(s.ID) {
		return nil
	}
	copy(s.TraceID[:], in.GetTraceId())
	copy(s.ID[:], in.GetSpanId())
	if !s.TraceID.IsValid() || !s.ID.IsValid() {
		return nil
	}
	if len(in.GetParentSpanId()) == len(s.Parent) {
		copy(s.Parent[:], in.GetParentSpanId())
	}
	s.Start.Time, s.End.Time = fromNanos(in.GetStartTimeUnixNano()), fromNanos(in.GetEndTimeUnixNano())
	if s.Start.IsZero() { // unknown, but arithmetic on times needs one
		if s.Start.Time = s.End.Time; s.Open() {
			s.Start.Time = time.Unix(0, 0).UTC()
		}
	}
	if !s.Open() && s.End.Before(s.Start.Time) {
		s.End.Time = s.Start.Time
	}
	s.Attributes = FromKeyValues(in.GetAttributes())
	s.fields()
	if in.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR {
		s.Status = StatusError
		if s.Message == "" {
			s.Message = in.GetStatus().GetMessage()
		}
	}
	for _, e := range in.GetEvents() {
		s.Events = append(s.Events, Event{
			Time: fromNanos(e.GetTimeUnixNano()), Name: e.GetName(), Attributes: FromKeyValues(e.GetAttributes()),
		})
	}
	for _, l := range in.GetLinks() {
		var id trace.TraceID
		var of trace.SpanID
		copy(id[:], l.GetTraceId())
		copy(of[:], l.GetSpanId())
		s.Links = append(s.Links, NewLink(id, of, FromKeyValues(l.GetAttributes())))
	}
	return s
}

// fromElsewhere sets the origin of another component's span. It moves the original IDs from
// attributes into the origin.
func (s *Span) fromElsewhere(in *tracepb.Span, ss *tracepb.ScopeSpans, from *Resource) {
	s.Origin = &Origin{
		TraceID: s.TraceID, Parent: s.Parent, Kind: trace.SpanKind(in.GetKind()), TraceState: in.GetTraceState(),
		Scope: Scope{Name: ss.GetScope().GetName(), Version: ss.GetScope().GetVersion()}, Resource: from,
	}
	all, message := len(s.Attributes), s.Message
	s.Attributes = slices.DeleteFunc(s.Attributes, func(kv attribute.KeyValue) bool {
		if kv.Value.Type() != attribute.STRING {
			return false
		}
		switch kv.Key {
		case KeyOriginTrace:
			id, err := trace.TraceIDFromHex(kv.Value.AsString())
			if err == nil {
				s.Origin.TraceID = id
			}
			return err == nil
		case KeyOriginParent:
			said, none := kv.Value.AsString(), trace.SpanID{}
			id, err := trace.SpanIDFromHex(said)
			if err == nil || said == none.String() {
				s.Origin.Parent = id
				return true
			}
		}
		return false
	})
	if len(s.Attributes) < all { // they followed the attributes that fields removes
		s.fields()
		s.Message = cmp.Or(s.Message, message)
	}
}

// fromNanos returns the zero time for an unknown or absurd time.
func fromNanos(ns uint64) time.Time {
	if ns == 0 || ns > math.MaxInt64 {
		return time.Time{}
	}
	return time.Unix(0, int64(ns)).UTC()
}

// fields sets the fields that ToOTLP writes as attributes, and removes the attributes that it would
// add again.
func (s *Span) fields() {
	said := make(map[attribute.Key]string, len(s.Attributes))
	for _, kv := range s.Attributes {
		if kv.Value.Type() == attribute.STRING {
			said[kv.Key] = kv.Value.AsString()
		}
	}
	if said[KeyKind] != "" {
		s.Object = object.Ref{
			Kind:      object.Kind{Group: said[KeyGroup], Version: said[KeyVersion], Kind: said[KeyKind]},
			Namespace: said[KeyNamespace], Name: said[KeyName], UID: types.UID(said[KeyUID]),
		}
	}
	s.Outcome, s.Evidence = Outcome(said[KeyOutcome]), Evidence(said[KeyEvidence])
	s.Start.Source, s.Message = TimeSource(said[KeyTimeStart]), said[KeyMessage]
	if !s.Open() {
		s.End.Source = TimeSource(said[KeyTimeEnd])
	}
	// ToOTLP appends them in this order, except those among the span's own attributes.
	bare := *s
	bare.Attributes = nil
	added := spanAttributes(&bare, nil)
	rest := len(s.Attributes)
	for _, kv := range slices.Backward(added) {
		if rest == 0 {
			break
		}
		if last := s.Attributes[rest-1]; last.Key == kv.Key && last.Value.Type() == attribute.STRING &&
			last.Value.AsString() == kv.Value.AsString() {
			rest--
		}
	}
	if s.Attributes = s.Attributes[:rest]; rest == 0 {
		s.Attributes = nil
	}
}
