// SPDX-License-Identifier: Apache-2.0

package document

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// exact is a span with every field. The fields that OTLP would change have members of their own.
type exact struct {
	Parent       string          `json:"parent,omitempty"`
	RemoteParent bool            `json:"remoteParent,omitempty"`
	Name         string          `json:"name,omitempty"`
	Service      string          `json:"service,omitempty"`
	Object       *object.Ref     `json:"object,omitempty"`
	Start        *moment         `json:"start,omitempty"`
	StartSource  span.TimeSource `json:"startSource,omitempty"`
	End          *moment         `json:"end,omitempty"`
	EndSource    span.TimeSource `json:"endSource,omitempty"`
	Outcome      span.Outcome    `json:"outcome,omitempty"`
	Evidence     span.Evidence   `json:"evidence,omitempty"`
	Error        bool            `json:"error,omitempty"`
	Message      string          `json:"message,omitempty"`
	Dropped      int             `json:"droppedEvents,omitempty"`
	// Lists has the attributes, events and links in protobuf's JSON of an OTLP Span. An event before
	// 1970 has the two's complement of its time.
	Lists  json.RawMessage `json:"lists,omitempty"`
	Origin *origin         `json:"origin,omitempty"`
}

// origin has the fields of another component's span.
type origin struct {
	TraceID    string `json:"traceId"`
	Parent     string `json:"parent"`
	Kind       int    `json:"kind,omitempty"`
	TraceState string `json:"traceState,omitempty"`
	Scope      string `json:"scope,omitempty"`
	Version    string `json:"version,omitempty"`
	SchemaURL  string `json:"schemaUrl,omitempty"`
	// Resource has the attributes in protobuf's JSON of an OTLP Resource; missing without one.
	Resource json.RawMessage `json:"resource,omitempty"`
}

// moment is a time in Unix nanoseconds, as text: a JSON number of that size loses digits elsewhere.
type moment time.Time

// MarshalText writes the number.
func (m moment) MarshalText() ([]byte, error) {
	return strconv.AppendInt(nil, time.Time(m).UnixNano(), 10), nil
}

// UnmarshalText reads the number.
func (m *moment) UnmarshalText(text []byte) error {
	ns, err := strconv.ParseInt(string(text), 10, 64)
	*m = moment(time.Unix(0, ns).UTC())
	return err
}

func momentOf(t time.Time) *moment {
	if t.IsZero() {
		return nil
	}
	m := moment(t)
	return &m
}

func (m *moment) time() time.Time {
	if m == nil {
		return time.Time{}
	}
	return time.Time(*m)
}

func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func newExact(s *span.Span) (*exact, error) {
	e := &exact{
		RemoteParent: s.RemoteParent, Name: valid(s.Name), Service: valid(s.Service),
		Start: momentOf(s.Start.Time), StartSource: s.Start.Source, End: momentOf(s.End.Time), EndSource: s.End.Source,
		Outcome: s.Outcome, Evidence: s.Evidence, Error: s.Status == span.StatusError, Message: valid(s.Message),
		Dropped: s.DroppedEvents,
	}
	if s.Parent.IsValid() {
		e.Parent = s.Parent.String()
	}
	if s.Object != (object.Ref{}) {
		ref := s.Object
		e.Object = &ref
	}
	in := &tracepb.Span{Attributes: span.KeyValues(s.Attributes, valid)}
	for _, ev := range s.Events {
		one := &tracepb.Span_Event{Name: valid(ev.Name), Attributes: span.KeyValues(ev.Attributes, valid)}
		if !ev.Time.IsZero() {
			one.TimeUnixNano = uint64(ev.Time.UnixNano())
		}
		in.Events = append(in.Events, one)
	}
	for _, l := range s.Links {
		in.Links = append(in.Links, &tracepb.Span_Link{
			TraceId: slices.Clone(l.TraceID[:]), SpanId: slices.Clone(l.SpanID[:]),
			Attributes: span.KeyValues(l.AllAttributes(), valid),
		})
	}
	var err error
	if e.Lists, err = protojson.Marshal(in); err != nil {
		return nil, err
	}
	e.Origin, err = newOrigin(s.Origin)
	return e, err
}

func newOrigin(o *span.Origin) (*origin, error) {
	if o == nil {
		return nil, nil //nolint:nilnil // a span of Lifeline
	}
	out := &origin{
		TraceID: o.TraceID.String(), Parent: o.Parent.String(), Kind: int(o.Kind), TraceState: valid(o.TraceState),
		Scope: valid(o.Scope.Name), Version: valid(o.Scope.Version),
	}
	if o.Resource == nil {
		return out, nil
	}
	var err error
	out.SchemaURL = valid(o.Resource.SchemaURL)
	attrs := span.KeyValues(o.Resource.Attributes, valid)
	out.Resource, err = protojson.Marshal(&resourcepb.Resource{Attributes: attrs})
	return out, err
}

// fill sets the fields of s.
func (e *exact) fill(s *span.Span) error {
	s.RemoteParent, s.Name, s.Service = e.RemoteParent, e.Name, e.Service
	s.Start = span.Time{Time: e.Start.time(), Source: e.StartSource}
	s.End = span.Time{Time: e.End.time(), Source: e.EndSource}
	s.Outcome, s.Evidence, s.Message, s.DroppedEvents = e.Outcome, e.Evidence, e.Message, e.Dropped
	if e.Error {
		s.Status = span.StatusError
	}
	if e.Object != nil {
		s.Object = *e.Object
	}
	var err error
	if e.Parent != "" {
		if s.Parent, err = spanID(e.Parent); err != nil {
			return fmt.Errorf("parent: %w", err)
		}
	}
	if err := e.fillLists(s); err != nil {
		return err
	}
	s.Origin, err = e.Origin.origin()
	return err
}

func (e *exact) fillLists(s *span.Span) error {
	if e.Lists == nil {
		return nil
	}
	var in tracepb.Span
	if err := protojson.Unmarshal(e.Lists, &in); err != nil {
		return fmt.Errorf("lists: %w", err)
	}
	s.Attributes = span.FromKeyValues(in.GetAttributes())
	for _, ev := range in.GetEvents() {
		one := span.Event{Name: ev.GetName(), Attributes: span.FromKeyValues(ev.GetAttributes())}
		if ns := ev.GetTimeUnixNano(); ns != 0 {
			one.Time = time.Unix(0, int64(ns)).UTC() //nolint:gosec // all 64 bits return
		}
		s.Events = append(s.Events, one)
	}
	for _, l := range in.GetLinks() {
		var id trace.TraceID
		var of trace.SpanID
		copy(id[:], l.GetTraceId())
		copy(of[:], l.GetSpanId())
		s.Links = append(s.Links, span.NewLink(id, of, span.FromKeyValues(l.GetAttributes())))
	}
	return nil
}

func (o *origin) origin() (*span.Origin, error) {
	if o == nil {
		return nil, nil //nolint:nilnil // a span of Lifeline
	}
	out := &span.Origin{
		Kind: trace.SpanKind(o.Kind), TraceState: o.TraceState, Scope: span.Scope{Name: o.Scope, Version: o.Version},
	}
	var err error
	if o.TraceID != (trace.TraceID{}).String() {
		if out.TraceID, err = trace.TraceIDFromHex(o.TraceID); err != nil {
			return nil, fmt.Errorf("origin.traceId: %w", err)
		}
	}
	if out.Parent, err = spanID(o.Parent); err != nil {
		return nil, fmt.Errorf("origin.parent: %w", err)
	}
	if o.Resource == nil {
		return out, nil
	}
	var r resourcepb.Resource
	if err := protojson.Unmarshal(o.Resource, &r); err != nil {
		return nil, fmt.Errorf("origin.resource: %w", err)
	}
	out.Resource = &span.Resource{SchemaURL: o.SchemaURL, Attributes: span.FromKeyValues(r.GetAttributes())}
	return out, nil
}
