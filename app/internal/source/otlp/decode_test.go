// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// exactly compares attributes with their types.
var exactly = cmp.Comparer(func(a, b attribute.Value) bool { return a.Type() == b.Type() && a.String() == b.String() })

func now() time.Time { return epoch }

// decoded decodes a request in either encoding.
func decoded(t testing.TB, body []byte) *batch {
	t.Helper()
	b := newBatch(now, 1<<30)
	read := b.readProto
	if len(body) > 0 && body[0] == '{' {
		read = b.readJSON
	}
	if err := read(body); err != nil {
		t.Fatal(err)
	}
	return b
}

// everything returns a request with every field of OTLP's spans.
func everything() ptraceotlp.ExportRequest {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.SetSchemaUrl("https://opentelemetry.io/schemas/1.39.0")
	rs.Resource().Attributes().PutStr("service.name", "apiserver")
	rs.Resource().Attributes().PutStr("k8s.node.name", "n")
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName("scope")
	ss.Scope().SetVersion("1")
	ss.Scope().Attributes().PutStr("not", "kept")
	s := ss.Spans().AppendEmpty()
	s.SetTraceID(pcommon.TraceID{1, 0xAB})
	s.SetSpanID(pcommon.SpanID{2, 0xCD})
	s.SetParentSpanID(pcommon.SpanID{3})
	s.TraceState().FromRaw("lifeline=s:00f067aa0ba902b7")
	s.SetName("PATCH \"pods\" ü")
	s.SetKind(ptrace.SpanKindServer)
	s.SetFlags(0x301)
	s.SetStartTimestamp(pcommon.Timestamp(epoch.UnixNano() + 1))
	s.SetEndTimestamp(pcommon.Timestamp(epoch.UnixNano() + 1_000_001))
	s.Status().SetCode(ptrace.StatusCodeError)
	s.Status().SetMessage("i/o timeout\n")
	a := s.Attributes()
	a.PutStr("s", "x")
	a.PutBool("b", true)
	a.PutInt("i", math.MinInt64)
	a.PutDouble("f", 1.5)
	a.PutDouble("inf", math.Inf(-1))
	a.PutEmpty("none")
	a.PutEmptyBytes("bytes").FromRaw([]byte{0, 0xFB, 0xFF})
	list := a.PutEmptySlice("list")
	list.AppendEmpty().SetStr("x")
	list.AppendEmpty().SetStr("")
	mixed := a.PutEmptySlice("mixed")
	mixed.AppendEmpty().SetInt(1)
	mixed.AppendEmpty().SetEmptyMap().PutInt("k", 1)
	a.PutEmptyMap("map").PutEmptyMap("in").PutInt("k", 1)
	e := s.Events().AppendEmpty()
	e.SetName("event")
	e.SetTimestamp(pcommon.Timestamp(epoch.UnixNano() + 7))
	e.Attributes().PutInt("n", 3)
	s.Events().AppendEmpty().SetName("without a time")
	l := s.Links().AppendEmpty()
	l.SetTraceID(pcommon.TraceID{9})
	l.SetSpanID(pcommon.SpanID{9})
	l.Attributes().PutStr("why", "request")
	a.PutStr("after the events", "x")

	other := td.ResourceSpans().AppendEmpty() // without a service name
	other.Resource().Attributes().PutStr("service.name", "unknown_service")
	s = other.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	s.SetTraceID(pcommon.TraceID{1})
	s.SetSpanID(pcommon.SpanID{4})
	s.SetName("bare")
	s.SetStartTimestamp(pcommon.Timestamp(epoch.UnixNano()))
	s.SetEndTimestamp(pcommon.Timestamp(epoch.UnixNano()))
	s.Status().SetMessage("of no error")
	return ptraceotlp.NewExportRequestFromTraces(td)
}

func TestDecode(t *testing.T) {
	at := func(ns int) time.Time { return epoch.Add(time.Duration(ns)) }
	apiserver := &span.Resource{
		SchemaURL: "https://opentelemetry.io/schemas/1.39.0",
		Attributes: []attribute.KeyValue{
			attribute.String("service.name", "apiserver"),
			attribute.String("k8s.node.name", "n"),
		},
	}
	nobody := &span.Resource{Attributes: []attribute.KeyValue{attribute.String("service.name", "unknown_service")}}
	want := []*span.Span{
		{
			TraceID:      trace.TraceID{1, 0xAB},
			ID:           trace.SpanID{2, 0xCD},
			Parent:       trace.SpanID{3},
			RemoteParent: true,
			Name:         `PATCH "pods" ü`,
			Service:      "apiserver",
			Start:        span.Time{Time: at(1)},
			End:          span.Time{Time: at(1_000_001)},
			Status:       span.StatusError,
			Message:      "i/o timeout\n",
			Attributes: []attribute.KeyValue{
				attribute.String("s", "x"),
				attribute.Bool("b", true),
				attribute.Int64("i", math.MinInt64),
				attribute.Float64("f", 1.5),
				attribute.Float64("inf", math.Inf(-1)),
				{Key: "none"},
				attribute.ByteSlice("bytes", []byte{0, 0xFB, 0xFF}),
				attribute.StringSlice("list", []string{"x", ""}),
				attribute.Slice("mixed", attribute.IntValue(1), attribute.MapValue(attribute.Int("k", 1))),
				attribute.Map("map", attribute.Map("in", attribute.Int("k", 1))),
				attribute.String("after the events", "x"),
			},
			Events: []span.Event{
				{Time: at(7), Name: "event", Attributes: []attribute.KeyValue{attribute.Int("n", 3)}},
				{Name: "without a time"},
			},
			Links: []span.Link{
				{
					TraceID:    trace.TraceID{9},
					SpanID:     trace.SpanID{9},
					Attributes: []attribute.KeyValue{attribute.String("why", "request")},
				},
			},
			Origin: &span.Origin{
				TraceID: trace.TraceID{
					1,
					0xAB,
				},
				Parent:     trace.SpanID{3},
				Kind:       trace.SpanKindServer,
				TraceState: "lifeline=s:00f067aa0ba902b7",
				Scope:      span.Scope{Name: "scope", Version: "1"},
				Resource:   apiserver,
			},
		},
		{
			TraceID: trace.TraceID{
				1,
			},
			ID:     trace.SpanID{4},
			Name:   "bare",
			Start:  span.Time{Time: at(0)},
			End:    span.Time{Time: at(0)},
			Origin: &span.Origin{TraceID: trace.TraceID{1}, Resource: nobody},
		},
	}
	wire, text := encoded(t, everything())
	for name, body := range map[string][]byte{"protobuf": wire, "json": text} {
		t.Run(name, func(t *testing.T) {
			got := decoded(t, body)
			if diff := cmp.Diff(want, got.spans, exactly); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if got.cut != [cuts]int{} || got.rejected != [rejections]int{} {
				t.Errorf("cut %v, rejected %v", got.cut, got.rejected)
			}
		})
	}
}

// TestDecodeShares: spans of one resource share it, and no span refers to the memory of the body.
func TestDecodeShares(t *testing.T) {
	for name, body := range both(t, requests(3)) {
		t.Run(name, func(t *testing.T) {
			got := decoded(t, body).spans
			want := got[0].Name
			if got[0].Origin.Resource != got[2].Origin.Resource {
				t.Error("spans of one resource do not share it")
			}
			for i := range body {
				body[i] = 'X'
			}
			if got[2].Name != want || strings.Contains(fmt.Sprint(got[1].Attributes, got[1].Origin.Resource), "XX") {
				t.Errorf("the spans changed with the body: %+v", got[1])
			}
		})
	}
}

func both(t testing.TB, req ptraceotlp.ExportRequest) map[string][]byte {
	t.Helper()
	wire, text := encoded(t, req)
	return map[string][]byte{"protobuf": wire, "json": text}
}

// one returns a request of one valid span, modified by change.
func one(change func(*tracepb.Span)) *coltracepb.ExportTraceServiceRequest {
	ns := uint64(epoch.UnixNano())
	s := &tracepb.Span{
		TraceId:           slices.Repeat([]byte{1}, 16),
		SpanId:            slices.Repeat([]byte{2}, 8),
		Name:              "s",
		StartTimeUnixNano: ns,
		EndTimeUnixNano:   ns,
	}
	change(s)
	return &coltracepb.ExportTraceServiceRequest{
		ResourceSpans: []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{s}}}}},
	}
}

func marshal(t testing.TB, m proto.Message) []byte {
	t.Helper()
	raw, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestRejected(t *testing.T) {
	ns := uint64(epoch.UnixNano())
	cases := map[string]struct {
		reason string
		change func(*tracepb.Span)
		// id or time selects the counter that rises; without either the span is accepted.
		id, time bool
		says     string
	}{
		"sound": {reason: "the sample itself", change: func(*tracepb.Span) {}},
		"zero parent": {
			reason: "some write no parent as zeros",
			change: func(s *tracepb.Span) { s.ParentSpanId = make([]byte, 8) },
		},
		"no trace ID": {
			reason: "OTLP: such a span is invalid",
			change: func(s *tracepb.Span) { s.TraceId = nil },
			id:     true,
			says:   `span "s" has no trace ID or no span ID`,
		},
		"zero trace ID": {
			reason: "OTLP: such a span is invalid",
			change: func(s *tracepb.Span) { s.TraceId = make([]byte, 16) },
			id:     true,
			says:   "has no trace ID",
		},
		"short trace ID": {
			reason: "a trace ID has 128 bits",
			change: func(s *tracepb.Span) { s.TraceId = s.TraceId[:8] },
			id:     true,
			says:   "an ID of the wrong length",
		},
		"no span ID": {
			reason: "OTLP: such a span is invalid",
			change: func(s *tracepb.Span) { s.SpanId = nil },
			id:     true,
			says:   "no span ID",
		},
		"long span ID": {
			reason: "a span ID has 64 bits",
			change: func(s *tracepb.Span) { s.SpanId = s.TraceId },
			id:     true,
			says:   "wrong length",
		},
		"short parent": {
			reason: "a parent ID has 64 bits",
			change: func(s *tracepb.Span) { s.ParentSpanId = []byte{1} },
			id:     true,
			says:   "wrong length",
		},
		"its own parent": {
			reason: "a tree has no loops",
			change: func(s *tracepb.Span) { s.ParentSpanId = s.SpanId },
			id:     true,
			says:   "is its own parent",
		},
		"no times": {
			reason: "a span needs a start and an end",
			change: func(s *tracepb.Span) { s.StartTimeUnixNano, s.EndTimeUnixNano = 0, 0 },
			time:   true,
			says:   "a start before 2000",
		},
		"not ended": {
			reason: "OTLP sends ended spans only",
			change: func(s *tracepb.Span) { s.EndTimeUnixNano = 0 },
			time:   true,
			says:   "ends before it starts",
		},
		"reversed": {
			reason: "a span has no negative length",
			change: func(s *tracepb.Span) { s.EndTimeUnixNano = ns - 1 },
			time:   true,
			says:   "ends before it starts",
		},
		"microseconds": {
			reason: "a wrong unit lands in 1970",
			change: func(s *tracepb.Span) { s.StartTimeUnixNano, s.EndTimeUnixNano = ns/1000, ns/1000 },
			time:   true,
			says:   "a start before 2000",
		},
		"beyond int64": {
			reason: "arithmetic would overflow",
			change: func(s *tracepb.Span) { s.EndTimeUnixNano = math.MaxUint64 },
			time:   true,
			says:   "ends more than ten minutes from now",
		},
		"ahead": {
			reason: "clocks of hosts differ, to be corrected later",
			change: func(s *tracepb.Span) { s.EndTimeUnixNano = ns + uint64(10*time.Minute) },
		},
		"too far ahead": {
			reason: "no synchronized clock is that wrong",
			change: func(s *tracepb.Span) { s.EndTimeUnixNano = ns + uint64(11*time.Minute) },
			time:   true,
			says:   "ends more than ten minutes from now",
		},
		"all too far": {reason: "it would stay first in every list", change: func(s *tracepb.Span) {
			s.StartTimeUnixNano, s.EndTimeUnixNano = ns+uint64(11*time.Minute), ns+uint64(12*time.Minute)
		}, time: true, says: "more than ten minutes from now"},
		"year 2262": {
			reason: "the last time in int64 nanoseconds",
			change: func(s *tracepb.Span) { s.StartTimeUnixNano, s.EndTimeUnixNano = math.MaxInt64, math.MaxInt64 },
			time:   true,
			says:   "more than ten minutes from now",
		},
		"after 2262": {
			reason: "arithmetic would overflow",
			change: func(s *tracepb.Span) { s.StartTimeUnixNano, s.EndTimeUnixNano = math.MaxInt64+1, math.MaxInt64+2 },
			time:   true,
			says:   "more than ten minutes from now",
		},
		"hostile name": {
			reason: "the message quotes it, bounded",
			change: func(s *tracepb.Span) { s.TraceId, s.Name = nil, "\x1b[2J"+strings.Repeat("x", 5000) },
			id:     true,
			says:   `span "\x1b[2Jxxx`,
		},
		"unknown kind": {reason: "an unknown kind becomes unspecified", change: func(s *tracepb.Span) { s.Kind = 77 }},
		"unknown status": {
			reason: "an unknown status becomes unset",
			change: func(s *tracepb.Span) { s.Status = &tracepb.Status{Code: 77} },
		},
		"negative status": {
			reason: "an enum may be negative",
			change: func(s *tracepb.Span) { s.Status = &tracepb.Status{Code: -2} },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			b := decoded(t, marshal(t, one(tc.change)))
			var want [rejections]int
			if tc.id {
				want[rejectedID]++
			}
			if tc.time {
				want[rejectedTime]++
			}
			taken := 1 - want[0] - want[1]
			if b.rejected != want || len(b.spans) != taken {
				t.Errorf("%d spans were accepted, rejected %v, want %v", len(b.spans), b.rejected, want)
			}
			answer := b.answer().GetPartialSuccess()
			if answer.GetRejectedSpans() != int64(1-taken) || !strings.Contains(answer.GetErrorMessage(), tc.says) ||
				len(answer.GetErrorMessage()) > 1024 {
				t.Errorf("got partial success %v, want %q in its message", answer, tc.says)
			}
		})
	}
}

func TestAnswerCounts(t *testing.T) {
	req := one(func(*tracepb.Span) {})
	spans := &req.ResourceSpans[0].ScopeSpans[0].Spans
	for range 3 {
		bad := proto.CloneOf((*spans)[0])
		bad.EndTimeUnixNano--
		*spans = append(*spans, bad)
	}
	(*spans)[2].SpanId = nil
	got := decoded(t, marshal(t, req)).answer().GetPartialSuccess()
	const want = `rejected 1 with invalid IDs and 2 with impossible times of 4 spans; ` +
		`the first: span "s" ends before it starts`
	if got.GetRejectedSpans() != 3 || got.GetErrorMessage() != want {
		t.Errorf("got %v", got)
	}
}

func TestBounds(t *testing.T) {
	text := func(k, v string) *commonpb.KeyValue {
		return &commonpb.KeyValue{
			Key:   k,
			Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: v}},
		}
	}
	many := func(n int) (out []*commonpb.KeyValue) {
		for i := range n {
			out = append(out, text(fmt.Sprint("k", i), "v"))
		}
		return out
	}
	list := func(items ...*commonpb.AnyValue) *commonpb.AnyValue {
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{ArrayValue: &commonpb.ArrayValue{Values: items}}}
	}
	table := func(kvs ...*commonpb.KeyValue) *commonpb.AnyValue {
		return &commonpb.AnyValue{
			Value: &commonpb.AnyValue_KvlistValue{KvlistValue: &commonpb.KeyValueList{Values: kvs}},
		}
	}
	deep := list()
	for range 1000 {
		deep = list(deep)
	}
	var items []*commonpb.AnyValue
	for range maxAttributes + 3 {
		items = append(items, text("", "x").Value)
	}
	long := strings.Repeat("ü", 3000)
	cases := map[string]struct {
		reason string
		change func(*tracepb.Span)
		cut    [cuts]int
		check  func(*span.Span) bool
	}{
		"attributes": {
			reason: "the first are kept",
			change: func(s *tracepb.Span) { s.Attributes = many(maxAttributes + 2) },
			cut: [cuts]int{
				cutAttribute: 2,
			},
			check: func(s *span.Span) bool { return len(s.Attributes) == maxAttributes && s.Attributes[0].Key == "k0" },
		},
		"events": {
			reason: "the first are kept",
			change: func(s *tracepb.Span) { s.Events = slices.Repeat([]*tracepb.Span_Event{{Name: "e"}}, maxEvents+5) },
			cut:    [cuts]int{cutEvent: 5},
			check:  func(s *span.Span) bool { return len(s.Events) == maxEvents },
		},
		"links": {
			reason: "the first are kept",
			change: func(s *tracepb.Span) {
				s.Links = slices.Repeat([]*tracepb.Span_Link{{TraceId: s.TraceId, SpanId: s.SpanId}}, maxLinks+5)
			},
			cut: [cuts]int{cutLink: 5}, check: func(s *span.Span) bool { return len(s.Links) == maxLinks },
		},
		"links to nothing": {
			reason: "a link without valid IDs is dropped with its attributes",
			change: func(s *tracepb.Span) {
				s.Links = []*tracepb.Span_Link{
					{TraceId: s.TraceId, Attributes: many(2)},
					{TraceId: s.TraceId[:1], SpanId: s.SpanId},
				}
				s.Attributes = many(1)
			},
			cut: [cuts]int{
				cutLink: 2,
			},
			check: func(s *span.Span) bool { return len(s.Links) == 0 && len(s.Attributes) == 1 },
		},
		"attributes of events": {
			reason: "the limit counts all values of a span",
			change: func(s *tracepb.Span) {
				s.Events = slices.Repeat([]*tracepb.Span_Event{{Attributes: many(maxAttributes)}}, 10)
			},
			cut: [cuts]int{cutAttribute: 10*maxAttributes - maxValues}, check: func(s *span.Span) bool {
				return len(s.Events) == 10 && len(s.Events[7].Attributes) == maxAttributes &&
					len(s.Events[8].Attributes) == 0
			},
		},
		"items": {
			reason: "a list has the limit of attributes",
			change: func(s *tracepb.Span) { s.Attributes = []*commonpb.KeyValue{{Key: "l", Value: list(items...)}} },
			cut: [cuts]int{
				cutAttribute: 3,
			},
			check: func(s *span.Span) bool { return len(s.Attributes[0].Value.AsStringSlice()) == maxAttributes },
		},
		"table": {
			reason: "a map has the limit of attributes",
			change: func(s *tracepb.Span) {
				s.Attributes = []*commonpb.KeyValue{{Key: "l", Value: table(many(maxAttributes + 1)...)}}
			},
			cut: [cuts]int{
				cutAttribute: 1,
			},
			check: func(s *span.Span) bool { return len(s.Attributes[0].Value.AsMap()) == maxAttributes },
		},
		"depth": {
			reason: "readers of a value may recurse",
			change: func(s *tracepb.Span) { s.Attributes = []*commonpb.KeyValue{{Key: "d", Value: deep}} },
			cut:    [cuts]int{cutDeep: 1},
			check: func(s *span.Span) bool {
				depth := 0
				for v := s.Attributes[0].Value; v.Type() == attribute.SLICE; v = v.AsSlice()[0] {
					depth++
				}
				return depth == maxDepth
			},
		},
		"texts": {
			reason: "each is cut at the boundary of a rune",
			change: func(s *tracepb.Span) {
				s.Name, s.TraceState, s.Status = long, long, &tracepb.Status{Code: 2, Message: long}
				s.Attributes = []*commonpb.KeyValue{text(long, long)}
				s.Events = []*tracepb.Span_Event{{Name: long}}
			},
			cut: [cuts]int{cutText: 6, cutMessage: 2}, check: func(s *span.Span) bool {
				for _, v := range []string{
					s.Name, s.Origin.TraceState, string(s.Attributes[0].Key),
					s.Attributes[0].Value.AsString(),
				} {
					if len(v) > 1024 || len(v) < 1000 || !strings.HasSuffix(v, "ü…") {
						return false
					}
				}
				return true
			},
		},
		"bytes": {
			reason: "bytes are bounded like texts",
			change: func(s *tracepb.Span) {
				s.Attributes = []*commonpb.KeyValue{
					{
						Key:   "b",
						Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_BytesValue{BytesValue: make([]byte, 2000)}},
					},
				}
			},
			cut: [cuts]int{
				cutText: 1,
			},
			check: func(s *span.Span) bool { return len(s.Attributes[0].Value.AsByteSlice()) == 1024 },
		},
	}
	for name, tc := range cases {
		wire := marshal(t, one(tc.change))
		in := ptraceotlp.NewExportRequest()
		if err := in.UnmarshalProto(wire); err != nil {
			t.Logf("%s: protobuf only, since the JSON encoder refuses it: %v", name, err)
			in = ptraceotlp.ExportRequest{}
		}
		bodies := map[string][]byte{"protobuf": wire}
		if in != (ptraceotlp.ExportRequest{}) {
			_, bodies["json"] = encoded(t, in)
		}
		for encoding, body := range bodies {
			t.Run(name+"/"+encoding, func(t *testing.T) {
				t.Log(tc.reason)
				b := decoded(t, body)
				if diff := cmp.Diff(tc.cut, b.cut); diff != "" || len(b.spans) != 1 {
					t.Fatalf("%d spans, cut -want +got:\n%s", len(b.spans), diff)
				}
				if !tc.check(b.spans[0]) {
					t.Errorf("got %+v", b.spans[0])
				}
			})
		}
	}
}

// TestInvalidUTF8: invalid bytes are replaced, because some senders do not check them.
func TestInvalidUTF8(t *testing.T) {
	wire := marshal(t, one(func(s *tracepb.Span) { s.Name = "GET /aXb" }))
	wire[slices.Index(wire, 'X')] = 0xFF
	if got := decoded(t, wire).spans[0].Name; got != "GET /a\uFFFDb" {
		t.Errorf("protobuf: got %q", got)
	}
	text := []byte(jsonSpan(`"name":"aXb\\ud800"`))
	text[slices.Index(text, 'X')] = 0xFF
	if got := decoded(t, text).spans[0].Name; strings.ToValidUTF8(got, "!") != got ||
		!strings.HasPrefix(got, "a\uFFFDb") {
		t.Errorf("JSON: got %q", got)
	}
}

// TestMemoryIsBounded: a small request may be large after decoding.
func TestMemoryIsBounded(t *testing.T) {
	wire, text := encoded(t, requests(2000))
	for name, read := range map[string]func(*batch) error{
		"protobuf": func(b *batch) error { return b.readProto(wire) },
		"json":     func(b *batch) error { return b.readJSON(text) },
		"resources": func(b *batch) error {
			return b.readProto(slices.Repeat([]byte{1<<3 | 2, 0}, 1<<20))
		},
		"attributes of resources": func(b *batch) error {
			attributes := marshal(t, &coltracepb.ExportTraceServiceRequest{ResourceSpans: []*tracepb.ResourceSpans{{}}})
			return b.readProto(
				slices.Repeat(append(attributes[:0:0], 1<<3|2, 6, 1<<3|2, 4, 1<<3|2, 0, 1<<3|2, 0), 1<<18),
			)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBatch(now, 1<<20)
			if err := read(b); !errors.Is(err, errTooMuch) {
				t.Errorf("got error %v after %d spans", err, len(b.spans))
			}
			if b.memory > 2<<20 {
				t.Errorf("%d bytes are in use, the limit is %d", b.memory, b.limit)
			}
		})
	}
}

// TestResourceInParts: a resource may have any number of parts. They merge, within the bounds of
// one.
func TestResourceInParts(t *testing.T) {
	const parts = 1 << 16
	span := marshal(t, one(func(*tracepb.Span) {}).GetResourceSpans()[0].GetScopeSpans()[0])
	wire := slices.Repeat([]byte{1<<3 | 2, 2, 1<<3 | 2, 0}, parts) // an attribute without a key
	wire = protowire.AppendBytes(protowire.AppendTag(wire, 2, protowire.BytesType), span)
	wire = protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), wire)
	text := []byte(
		`{"resourceSpans":[{` + strings.Repeat(
			`"resource":{"attributes":[{}]},`,
			parts,
		) + strings.TrimPrefix(
			jsonSpan(`"name":"s"`),
			`{"resourceSpans":[{`,
		),
	)
	for name, body := range map[string][]byte{"protobuf": wire, "JSON": text} {
		b := decoded(t, body)
		if len(b.spans) != 1 {
			t.Fatalf("%s: %d spans", name, len(b.spans))
		}
		if n := len(b.spans[0].Origin.Resource.Attributes); n != maxAttributes ||
			b.cut[cutAttribute] != parts-maxAttributes {
			t.Errorf("%s: the resource has %d attributes, and %d were cut", name, n, b.cut[cutAttribute])
		}
		if b.memory > 1<<20 {
			t.Errorf("%s: %d bytes are in use, want at most 1 MiB", name, b.memory)
		}
	}
}

// TestEventTimes: an impossible time of an event becomes unknown.
func TestEventTimes(t *testing.T) {
	ns := uint64(epoch.UnixNano())
	for _, tc := range []struct {
		at   uint64
		want bool
	}{
		{ns, true}, {ns + uint64(10*time.Minute), true}, {ns + uint64(11*time.Minute), false}, {1, false},
		{math.MaxInt64, false}, {math.MaxUint64, false},
	} {
		b := decoded(
			t,
			marshal(
				t,
				one(func(s *tracepb.Span) { s.Events = []*tracepb.Span_Event{{TimeUnixNano: tc.at, Name: "e"}} }),
			),
		)
		if got := b.spans[0].Events[0].Time; got.IsZero() == tc.want {
			t.Errorf("%d: got %v", tc.at, got)
		}
	}
}
