// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/timestamp"
)

// FuzzProto compares readProto with generated code.
func FuzzProto(f *testing.F) {
	wire, _ := encoded(f, everything())
	f.Add(wire)
	f.Fuzz(func(t *testing.T, body []byte) {
		b := newBatch(now, 1<<24)
		err := b.readProto(body)
		sound(t, b)
		var in coltracepb.ExportTraceServiceRequest
		if proto.Unmarshal(body, &in) != nil {
			return // readProto accepts invalid UTF-8, and damage in parts that it skips
		}
		if err != nil {
			t.Fatalf("generated code decodes the body, readProto fails: %v", err)
		}
		unforged(t, b)
		if b.cut != [cuts]int{} {
			return
		}
		want := reference(&in)
		if len(want) != len(b.spans) {
			t.Fatalf("%d spans, want %d", len(b.spans), len(want))
		}
		for i, s := range b.spans {
			if diff := cmp.Diff(want[i], s, exactly); diff != "" {
				t.Fatalf("span %d: -want +got:\n%s", i, diff)
			}
		}
	})
}

// FuzzJSON checks the invariants of a batch.
func FuzzJSON(f *testing.F) {
	_, text := encoded(f, everything())
	f.Add(text)
	f.Fuzz(func(t *testing.T, body []byte) {
		b := newBatch(now, 1<<24)
		err := b.readJSON(body)
		sound(t, b)
		again := newBatch(now, 1<<24)
		if err2 := again.readJSON(slices.Clone(body)); (err == nil) != (err2 == nil) ||
			len(b.spans) != len(again.spans) {
			t.Fatalf("two readings differ: %v and %v", err, err2)
		}
		if err == nil {
			unforged(t, b)
		}
	})
}

// sound checks the invariants of spans from any encoding.
func sound(t *testing.T, b *batch) {
	t.Helper()
	for _, s := range b.spans {
		switch {
		case !s.TraceID.IsValid(), !s.ID.IsValid(), s.Parent == s.ID, s.Origin == nil, s.Origin.Resource == nil,
			s.Origin.TraceID != s.TraceID, s.Origin.Parent != s.Parent, s.RemoteParent && !s.Parent.IsValid():
			t.Fatalf("inconsistent IDs or origin: %+v", s)
		case !timestamp.Possible(s.Start.Time, epoch),
			s.End.Before(s.Start.Time),
			!timestamp.Possible(s.End.Time, epoch):
			t.Fatalf("impossible times: %+v", s)
		case len(s.Attributes) > maxAttributes, len(s.Events) > maxEvents, len(s.Links) > maxLinks:
			t.Fatalf("too many attributes, events or links: %+v", s)
		}
		for _, text := range []string{
			s.Name, s.Service, s.Message, s.Origin.TraceState, s.Origin.Scope.Name,
			s.Origin.Resource.SchemaURL,
		} {
			if len(text) > 1024 || !utf8.ValidString(text) {
				t.Fatalf("a text is too long or invalid UTF-8: %q", text)
			}
		}
		for _, kv := range s.Attributes {
			if len(kv.Key) > 1024 || !utf8.ValidString(string(kv.Key)) {
				t.Fatalf("a key is too long or invalid UTF-8: %q", kv.Key)
			}
		}
	}
	if answer := b.answer().GetPartialSuccess(); len(answer.GetErrorMessage()) > 1024 ||
		!utf8.ValidString(answer.GetErrorMessage()) {
		t.Fatalf("the response is too long or invalid UTF-8: %q", answer)
	}
}

// unforged checks that accepted spans have no attribute reserved for Lifeline.
func unforged(t *testing.T, b *batch) {
	t.Helper()
	for _, s := range b.spans {
		for _, kv := range s.Attributes {
			if strings.HasPrefix(string(kv.Key), "lifeline.") &&
				!strings.HasPrefix(s.Origin.Scope.Name, span.ScopeName) {
				t.Fatalf("a span of scope %q has the reserved attribute %s", s.Origin.Scope.Name, kv.Key)
			}
		}
	}
}

// reference makes spans from the result of generated code, without bounds.
func reference(in *coltracepb.ExportTraceServiceRequest) (out []*span.Span) {
	for _, rs := range in.GetResourceSpans() {
		resource := &span.Resource{
			SchemaURL:  rs.GetSchemaUrl(),
			Attributes: span.FromKeyValues(rs.GetResource().GetAttributes()),
		}
		service := ""
		for _, kv := range rs.GetResource().GetAttributes() {
			if name := kv.GetValue().GetStringValue(); kv.GetKey() == "service.name" && name != "unknown_service" {
				if kv.GetValue().String() != "" {
					service = name
					break
				}
			}
		}
		for _, ss := range rs.GetScopeSpans() {
			scope := span.Scope{Name: ss.GetScope().GetName(), Version: ss.GetScope().GetVersion()}
			for _, s := range ss.GetSpans() {
				if made := referenceSpan(s); made != nil {
					made.Service, made.Origin.Scope, made.Origin.Resource = service, scope, resource
					out = append(out, made)
				}
			}
		}
	}
	return out
}

func possible(ns uint64) bool {
	_, ok := timestamp.FromNanos(ns, epoch)
	return ok
}

// referenceSpan returns nil for a span that must be rejected.
func referenceSpan(in *tracepb.Span) *span.Span {
	fits := func(to, from []byte) bool {
		return copy(to, from) == len(from) && (len(from) == 0 || len(from) == len(to))
	}
	s := &span.Span{Name: in.GetName(), Origin: &span.Origin{TraceState: in.GetTraceState()}}
	if !fits(s.TraceID[:], in.GetTraceId()) || !fits(s.ID[:], in.GetSpanId()) ||
		!fits(s.Parent[:], in.GetParentSpanId()) ||
		!s.TraceID.IsValid() ||
		!s.ID.IsValid() ||
		s.ID == s.Parent {
		return nil
	}
	nanos := func(ns uint64) time.Time { return time.Unix(0, int64(ns)).UTC() }
	start, end := in.GetStartTimeUnixNano(), in.GetEndTimeUnixNano()
	if end < start || !possible(start) || !possible(end) {
		return nil
	}
	s.Start.Time, s.End.Time = nanos(start), nanos(end)
	s.RemoteParent = in.GetFlags()&0x300 == 0x300 && s.Parent.IsValid()
	if kind := in.GetKind(); kind > 0 && kind <= tracepb.Span_SPAN_KIND_CONSUMER {
		s.Origin.Kind = trace.SpanKind(kind)
	}
	if in.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR {
		s.Status, s.Message = span.StatusError, in.GetStatus().GetMessage()
	}
	s.Origin.TraceID, s.Origin.Parent = s.TraceID, s.Parent
	s.Attributes = span.FromKeyValues(in.GetAttributes())
	for _, e := range in.GetEvents() {
		event := span.Event{Name: e.GetName(), Attributes: span.FromKeyValues(e.GetAttributes())}
		if ns := e.GetTimeUnixNano(); ns > 0 && ns <= 1<<63-1 {
			event.Time = nanos(ns)
		}
		s.Events = append(s.Events, event)
	}
	for _, l := range in.GetLinks() {
		link := span.Link{Attributes: span.FromKeyValues(l.GetAttributes())}
		fits(link.TraceID[:], l.GetTraceId())
		fits(link.SpanID[:], l.GetSpanId())
		s.Links = append(s.Links, link)
	}
	return s
}
