// SPDX-License-Identifier: Apache-2.0

package span_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/kube-lifeline/lifeline/app/internal/lifecycle"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

// withoutFacts leaves out the data that OTLP lacks.
var withoutFacts = cmpopts.IgnoreFields(span.Span{}, "Facts")

// exactly compares attributes with their types.
var exactly = cmp.Comparer(func(a, b attribute.Value) bool {
	return a.Type() == b.Type() && a.String() == b.String()
})

func samples() map[string]*span.Trace {
	out := map[string]*span.Trace{
		"apply": spantest.Apply(), "crash loop": spantest.CrashLoop(), "unschedulable": spantest.Unschedulable(),
		"many":    spantest.Many(120),
		"rollout": spantest.Rollout(), "delete": spantest.Healing()[0], "heal": spantest.Healing()[1],
		"values": everyValue(),
	}
	return out
}

// everyValue has every type of value, and values at the limits of OTLP.
func everyValue() *span.Trace {
	b := spantest.New("values")
	root := b.Add(nil, "reconcile Deployment", "", spantest.Ref("apps", "Deployment", "web"), 0, 4000,
		attribute.Bool("b", true), attribute.Int("i", -1), attribute.Float64("f", 1.5), attribute.String("s", ""),
		attribute.StringSlice("ss", []string{"x", ""}), attribute.StringSlice("none", []string{}),
		attribute.IntSlice("is", []int{1, 2}),
		attribute.BoolSlice("bs", []bool{true}), attribute.Float64Slice("fs", []float64{2}),
		attribute.ByteSlice("bytes", []byte{0, 255}),
		attribute.Slice("mixed", attribute.IntValue(1), attribute.StringValue("x")),
		attribute.Map("map", attribute.Int("k", 1)),
		attribute.KeyValue{Key: "empty"}, span.KeyGeneration.Int(3))
	root.Parent, root.RemoteParent, root.Evidence = trace.SpanID{9}, true, span.ByAnnotation
	root.Status, root.Message, root.Outcome = span.StatusError, "because", span.Failed
	root.Start = span.Time{Time: spantest.Epoch.Add(time.Nanosecond), Source: span.TimeObject}
	root.Events = []span.Event{{Name: "event Scheduled"}}
	root.Links = []span.Link{{TraceID: trace.TraceID{7}}}
	part := b.Add(nil, "reconcile Pod", "kubelet", object.Ref{Kind: object.Kind{Kind: "Node"}, Name: "n"}, 10, 10)
	part.Parent = trace.SpanID{8} // missing, and not marked as outside
	b.Add(part, "pull image", "kubelet", part.Object, 20, 30).Evidence = ""
	return b.Trace
}

// TestFromOTLPIsTheInverse converts every sample to OTLP and back.
func TestFromOTLPIsTheInverse(t *testing.T) {
	for name, tr := range samples() {
		t.Run(name, func(t *testing.T) {
			want := span.EndOpen([]*span.Trace{tr}, spantest.Epoch.Add(time.Minute))[0]
			got := back(t, want)
			byID := func(a, b *span.Span) int { return bytes.Compare(a.ID[:], b.ID[:]) }
			if diff := cmp.Diff(slices.SortedFunc(slices.Values(want.Spans), byID),
				slices.SortedFunc(slices.Values(got.Spans), byID), exactly, withoutFacts); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			walk(t, got)
			if diff := cmp.Diff(got, back(t, got), exactly); diff != "" {
				t.Errorf("a second time it changes: -first +second:\n%s", diff)
			}
		})
	}
}

// TestFromOTLPOfRecordings converts the traces of recorded clusters to OTLP and back. The spans
// return in the engine's order.
func TestFromOTLPOfRecordings(t *testing.T) {
	paths, err := filepath.Glob("../lifecycle/testdata/*.jsonl.gz")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			in, err := observation.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			engine := lifecycle.New(lifecycle.Options{Cluster: "recorded"})
			var last time.Time
			o, err := in.Next()
			for n := 0; err == nil; o, err = in.Next() {
				engine.Observe(o)
				last = o.Seen
				if n++; n%500 == 0 {
					compareAll(t, engine.Traces(last), last)
				}
			}
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			compareAll(t, engine.Traces(last.Add(time.Minute)), last)
		})
	}
}

func compareAll(t *testing.T, traces []*span.Trace, now time.Time) {
	t.Helper()
	for _, want := range span.EndOpen(traces, now) {
		if diff := cmp.Diff(want.Spans, back(t, want).Spans, exactly, cmp.Comparer(time.Time.Equal),
			cmpopts.EquateEmpty(), withoutFacts); diff != "" {
			t.Fatalf("-want +got:\n%s", diff)
		}
	}
}

// TestFromOTLPOfHostileText: the repairs of ToOTLP are stable; a second conversion changes nothing.
func TestFromOTLPOfHostileText(t *testing.T) {
	want := span.ToOTLP([]*span.Trace{spantest.Hostile()}, "c")
	tr, err := span.FromOTLP(want)
	if err != nil {
		t.Fatal(err)
	}
	got := span.ToOTLP([]*span.Trace{tr}, "c")
	if !proto.Equal(&tracepb.TracesData{ResourceSpans: want}, &tracepb.TracesData{ResourceSpans: got}) {
		t.Errorf("-want +got:\n%s", cmp.Diff(fmt.Sprint(want), fmt.Sprint(got)))
	}
}

func back(t *testing.T, tr *span.Trace) *span.Trace {
	t.Helper()
	got, err := span.FromOTLP(span.ToOTLP([]*span.Trace{tr}, "cluster"))
	if err != nil {
		t.Fatal(err)
	}
	if got.ID != tr.ID || got.Outcome != "" || got.Reason != "" {
		t.Errorf("got trace %s, outcome %q, reason %q", got.ID, got.Outcome, got.Reason)
	}
	return got
}

// walk checks the order: parents first, siblings by start.
func walk(t *testing.T, tr *span.Trace) {
	t.Helper()
	at := map[trace.SpanID]int{}
	last := map[trace.SpanID]time.Time{}
	for i, s := range tr.Spans {
		if _, twice := at[s.ID]; twice {
			t.Fatalf("span %s comes twice", s.ID)
		}
		at[s.ID] = i
		if s.Start.Before(last[s.Parent]) && !s.RemoteParent {
			t.Errorf("%s %s starts before its sibling", s.Name, s.ID)
		}
		last[s.Parent] = s.Start.Time
	}
	for i, s := range tr.Spans {
		if up, there := at[s.Parent]; there && up >= i {
			t.Errorf("%s %s comes before its parent", s.Name, s.ID)
		}
	}
}

func TestFromOTLPForeign(t *testing.T) {
	id := func(n byte) []byte { return []byte{n, 0, 0, 0, 0, 0, 0, 0} }
	tid := append(id(1), id(2)...)
	str := func(k, v string) *commonpb.KeyValue {
		return &commonpb.KeyValue{
			Key: k, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: v}},
		}
	}
	now := uint64(spantest.Epoch.UnixNano())
	cases := map[string]struct {
		reason string
		spans  []*tracepb.Span
		want   string
		err    string
	}{
		"nothing": {reason: "there is no trace without spans", err: "no span with valid IDs"},
		"bad IDs": {
			reason: "what cannot be named is left out",
			spans: []*tracepb.Span{
				nil, {TraceId: tid[:3], SpanId: id(1)}, {TraceId: tid, SpanId: id(0)},
				{TraceId: make([]byte, 16), SpanId: id(3)},
				{
					TraceId: tid, SpanId: id(4), ParentSpanId: []byte{1}, Name: "ok", StartTimeUnixNano: now,
					EndTimeUnixNano: now,
				},
			},
			want: "ok",
		},
		"two traces": {
			reason: "which one is meant?",
			spans:  []*tracepb.Span{{TraceId: tid, SpanId: id(1)}, {TraceId: append(id(9), id(9)...), SpanId: id(1)}},
			err:    "there are spans of 01000000000000000200000000000000 and of 09",
		},
		"same ID": {
			reason: "an ID names one span: the first",
			spans: []*tracepb.Span{
				{TraceId: tid, SpanId: id(1), Name: "first"}, {TraceId: tid, SpanId: id(1), Name: "second"},
			},
			want: "first[open]",
		},
		"parent outside": {
			reason: "without flags, a parent that is not there is remote",
			spans: []*tracepb.Span{
				{TraceId: tid, SpanId: id(1), ParentSpanId: id(7), Name: "root"},
				{TraceId: tid, SpanId: id(2), ParentSpanId: id(1), Name: "child"},
			},
			want: "root[remote][open] child[open]",
		},
		"circle": {
			reason: "who is its own ancestor becomes a root",
			spans: []*tracepb.Span{
				{
					TraceId: tid, SpanId: id(1), ParentSpanId: id(2), Name: "a", StartTimeUnixNano: now + 1,
					EndTimeUnixNano: now + 2,
				},
				{
					TraceId: tid, SpanId: id(2), ParentSpanId: id(1), Name: "b", StartTimeUnixNano: now,
					EndTimeUnixNano: now + 2,
				},
				{
					TraceId: tid, SpanId: id(3), ParentSpanId: id(3), Name: "self", StartTimeUnixNano: now + 5,
					EndTimeUnixNano: now + 6,
				},
			},
			want: "b a self",
		},
		"times": {
			reason: "unknown and absurd times break no arithmetic",
			spans: []*tracepb.Span{
				{TraceId: tid, SpanId: id(1), Name: "none"},
				{TraceId: tid, SpanId: id(2), Name: "reversed", StartTimeUnixNano: now, EndTimeUnixNano: now - 5},
				{
					TraceId: tid, SpanId: id(3), Name: "absurd", StartTimeUnixNano: math.MaxUint64,
					EndTimeUnixNano: now + 1,
				},
			},
			want: "none[open] reversed absurd",
		},
		"error": {
			reason: "others say why in the status only",
			spans: []*tracepb.Span{{TraceId: tid, SpanId: id(1), Name: "x", Attributes: []*commonpb.KeyValue{
				str("k8s.pod.name", "p"), nil,
			},
				Status: &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: "boom"}}},
			want: "x[open][boom]",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			tr, err := span.FromOTLP([]*tracepb.ResourceSpans{
				nil, {ScopeSpans: []*tracepb.ScopeSpans{nil, {Spans: tc.spans}}},
			})
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("got error %v, want %q", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, sketch(tr)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func sketch(tr *span.Trace) string {
	var out []string
	for _, s := range tr.Spans {
		text := s.Name
		if s.RemoteParent {
			text += "[remote]"
		}
		if s.Open() {
			text += "[open]"
		}
		if s.Message != "" {
			text += "[" + s.Message + "]"
		}
		if s.Duration(spantest.Epoch) < 0 {
			text += "[negative]"
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

func TestFromKeyValuesIsBounded(t *testing.T) {
	deep := &commonpb.AnyValue{}
	for range 5000 {
		deep = &commonpb.AnyValue{
			Value: &commonpb.AnyValue_ArrayValue{ArrayValue: &commonpb.ArrayValue{Values: []*commonpb.AnyValue{deep}}},
		}
	}
	got := span.FromKeyValues([]*commonpb.KeyValue{{Key: "deep", Value: deep}})
	depth := 0
	for v := got[0].Value; v.Type() == attribute.SLICE; v = v.AsSlice()[0] {
		depth++
	}
	if depth > 70 {
		t.Errorf("a value is nested %d times", depth)
	}
}

func FuzzFromOTLP(f *testing.F) {
	for _, tr := range samples() {
		if len(tr.Spans) > 50 {
			continue
		}
		wire, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: span.ToOTLP([]*span.Trace{tr}, "c")})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(wire)
	}
	loop, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{
		Resource: &resourcepb.Resource{}, ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{
			{
				TraceId: bytes.Repeat([]byte{1}, 16), SpanId: bytes.Repeat([]byte{1}, 8),
				ParentSpanId: bytes.Repeat([]byte{2}, 8),
			},
			{
				TraceId: bytes.Repeat([]byte{1}, 16), SpanId: bytes.Repeat([]byte{2}, 8),
				ParentSpanId: bytes.Repeat([]byte{1}, 8),
			},
		}}},
	}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(loop)
	f.Fuzz(func(t *testing.T, wire []byte) {
		var in tracepb.TracesData
		if proto.Unmarshal(wire, &in) != nil {
			return
		}
		tr, err := span.FromOTLP(in.GetResourceSpans())
		if err != nil {
			return
		}
		at := map[trace.SpanID]int{}
		for i, s := range tr.Spans {
			if _, twice := at[s.ID]; twice || s.TraceID != tr.ID || s.Start.IsZero() || !s.Open() &&
				s.End.Before(s.Start.Time) {
				t.Fatalf("span %d is %+v", i, s)
			}
			at[s.ID] = i
		}
		for i, s := range tr.Spans {
			if up, there := at[s.Parent]; there && up >= i {
				t.Fatalf("span %s comes before its parent", s.ID)
			}
		}
		if got, want := string(span.ToJSON([]*span.Trace{tr}, "c")), marshaled(t, tr); got != want {
			t.Fatalf("the document is\n%s\ninstead of\n%s", got, want)
		}
	})
}
