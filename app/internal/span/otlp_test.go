// SPDX-License-Identifier: Apache-2.0

package span_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

func TestToOTLPResources(t *testing.T) {
	got := map[string][]string{}
	var order []string
	for _, rs := range span.ToOTLP([]*span.Trace{spantest.Apply()}, "cluster-1") {
		attrs := texts(rs.GetResource().GetAttributes())
		service := attrs["service.name"]
		order = append(order, service)
		if attrs["k8s.cluster.uid"] != "cluster-1" {
			t.Errorf("resource %s: k8s.cluster.uid is %q", service, attrs["k8s.cluster.uid"])
		}
		if len(rs.GetScopeSpans()) != 1 {
			t.Fatalf("resource %s has %d scopes", service, len(rs.GetScopeSpans()))
		}
		scope := rs.GetScopeSpans()[0]
		if scope.GetScope().GetName() != span.ScopeName || scope.GetScope().GetVersion() == "" ||
			scope.GetSchemaUrl() != span.SchemaURL {
			t.Errorf("resource %s: scope is %v, schema %q", service, scope.GetScope(), scope.GetSchemaUrl())
		}
		for _, s := range scope.GetSpans() {
			got[service] = append(got[service], s.GetName())
		}
	}
	want := map[string][]string{
		"deployment-controller": {"reconcile Deployment"},
		"kube-scheduler":        {"schedule"},
		"kubectl":               {"run", "create Deployment"},
		"kubelet":               {"reconcile Pod", "sandbox", "pull image", "start container", "readiness"},
		"replicaset-controller": {"reconcile ReplicaSet"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("one resource for each component: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"deployment-controller", "kube-scheduler", "kubectl", "kubelet",
		"replicaset-controller"}, order); diff != "" {
		t.Errorf("in order of its name: -want +got:\n%s", diff)
	}
}

func TestToOTLPSpan(t *testing.T) {
	deployment := object.Ref{
		Kind:      object.Kind{Group: "apps", Version: "v1", Kind: "Deployment"},
		Namespace: "shop", Name: "web", UID: "u-1",
	}
	id, parent := trace.SpanID{1}, trace.SpanID{2}
	cases := map[string]struct {
		reason string
		span   span.Span
		check  func(t *testing.T, s *tracepb.Span)
	}{
		"object": {
			reason: "the object is there under our keys and under those of the semantic conventions",
			span: span.Span{
				Object: deployment, Outcome: span.Converged, Evidence: span.ByOwner,
				Attributes: []attribute.KeyValue{attribute.Int("k8s.object.generation", 3)},
			},
			check: func(t *testing.T, s *tracepb.Span) {
				want := map[string]string{
					"k8s.object.group": "apps", "k8s.object.version": "v1", "k8s.object.kind": "Deployment",
					"k8s.object.namespace": "shop", "k8s.object.name": "web", "k8s.object.uid": "u-1",
					"k8s.object.generation": "3",
					"k8s.namespace.name":    "shop", "k8s.deployment.name": "web", "k8s.deployment.uid": "u-1",
					"lifeline.outcome": "converged", "lifeline.evidence": "owner",
					"lifeline.time.source.start": "request", "lifeline.time.source": "watch",
				}
				if diff := cmp.Diff(want, texts(s.GetAttributes())); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			},
		},
		"own attributes win": {
			reason: "no key comes twice; the latest of the span's own values stands",
			span: span.Span{Object: deployment, Outcome: span.Failed, Attributes: []attribute.KeyValue{
				attribute.String("k8s.deployment.name", "first"), attribute.String("k8s.deployment.name", "own"),
				span.KeyOutcome.String("own"), attribute.String("", "no key"),
			}},
			check: func(t *testing.T, s *tracepb.Span) {
				seen := map[string]int{}
				for _, kv := range s.GetAttributes() {
					seen[kv.GetKey()]++
				}
				got := texts(s.GetAttributes())
				if got["k8s.deployment.name"] != "own" || got["lifeline.outcome"] != "own" ||
					seen["k8s.deployment.name"] != 1 || seen[""] != 0 {
					t.Errorf("got %v", s.GetAttributes())
				}
			},
		},
		"unknown kind": {
			reason: "a custom resource has no keys in the semantic conventions",
			span: span.Span{
				Object: object.Ref{Kind: object.Kind{Group: "example.com", Version: "v1", Kind: "Pod"}, Name: "p"},
			},
			check: func(t *testing.T, s *tracepb.Span) {
				if got := texts(s.GetAttributes()); got["k8s.pod.name"] != "" || got["k8s.object.kind"] != "Pod" {
					t.Errorf("got %v", got)
				}
			},
		},
		"internal": {
			reason: "work on an object is internal, below its parent",
			span:   span.Span{Name: "reconcile Deployment", Parent: parent},
			check: func(t *testing.T, s *tracepb.Span) {
				if s.GetKind() != tracepb.Span_SPAN_KIND_INTERNAL || [8]byte(s.GetParentSpanId()) != parent ||
					s.GetFlags() != 0x101 || s.GetStatus() != nil {
					t.Errorf("got %v", s)
				}
			},
		},
		"write": {
			reason: "a write is a client's span",
			span:   span.Span{Name: "create Deployment", Parent: parent},
			check: func(t *testing.T, s *tracepb.Span) {
				if s.GetKind() != tracepb.Span_SPAN_KIND_CLIENT {
					t.Errorf("got %v", s)
				}
			},
		},
		"remote parent": {
			reason: "a parent outside is marked so",
			span:   span.Span{Name: "run", Parent: parent, RemoteParent: true},
			check: func(t *testing.T, s *tracepb.Span) {
				if s.GetFlags() != 0x301 {
					t.Errorf("got flags %#x", s.GetFlags())
				}
			},
		},
		"root": {
			reason: "a root has no parent ID, not one of zeros",
			span:   span.Span{Name: "run"},
			check: func(t *testing.T, s *tracepb.Span) {
				if s.GetParentSpanId() != nil {
					t.Errorf("got parent %x", s.GetParentSpanId())
				}
			},
		},
		"error": {
			reason: "a failure sets the status, its reason is the message",
			span:   span.Span{Status: span.StatusError, Message: "exit code 1"},
			check: func(t *testing.T, s *tracepb.Span) {
				want := &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: "exit code 1"}
				if !proto.Equal(want, s.GetStatus()) {
					t.Errorf("got %v", s.GetStatus())
				}
			},
		},
		"events and links": {
			reason: "both arrive with time and attributes",
			span: span.Span{
				Events: []span.Event{
					{
						Time: spantest.Epoch, Name: "write", Attributes: []attribute.KeyValue{
							span.KeyVerb.String("update"),
						},
					},
				},
				Links: []span.Link{
					{
						TraceID: trace.TraceID{9}, SpanID: parent, Attributes: []attribute.KeyValue{
							span.KeyEvidence.String("unverified"),
						},
					},
				},
			},
			check: func(t *testing.T, s *tracepb.Span) {
				e, l := s.GetEvents()[0], s.GetLinks()[0]
				if e.GetName() != "write" || e.GetTimeUnixNano() != uint64(spantest.Epoch.UnixNano()) ||
					texts(e.GetAttributes())["lifeline.write.verb"] != "update" {
					t.Errorf("got event %v", e)
				}
				if [16]byte(l.GetTraceId()) != (trace.TraceID{9}) || [8]byte(l.GetSpanId()) != parent ||
					texts(l.GetAttributes())["lifeline.evidence"] != "unverified" {
					t.Errorf("got link %v", l)
				}
			},
		},
		"times out of range": {
			reason: "what OTLP cannot write is unknown, and no span ends before it starts",
			span: span.Span{
				Start: span.Time{Time: time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)}, End: span.Time{
					Time: time.Date(1800, 1, 1, 0, 0, 0, 0, time.UTC),
				},
			},
			check: func(t *testing.T, s *tracepb.Span) {
				if s.GetStartTimeUnixNano() != 0 || s.GetEndTimeUnixNano() != 0 {
					t.Errorf("got %d to %d", s.GetStartTimeUnixNano(), s.GetEndTimeUnixNano())
				}
			},
		},
		"values": {
			reason: "every type of attribute arrives as it is",
			span: span.Span{Attributes: []attribute.KeyValue{
				attribute.Bool("b", true), attribute.Int("i", -1), attribute.Float64("f", 1.5),
				attribute.StringSlice("ss", []string{"x", "\xff"}),
				attribute.IntSlice("is", []int{1}), attribute.BoolSlice("bs", []bool{true}),
				attribute.Float64Slice("fs", []float64{2}),
			}},
			check: func(t *testing.T, s *tracepb.Span) {
				got := map[string]string{}
				for _, kv := range s.GetAttributes() {
					got[kv.GetKey()] = strings.ReplaceAll(kv.GetValue().String(), "  ", " ")
				}
				for key, want := range map[string]string{
					"b": "bool_value:true", "i": "int_value:-1", "f": "double_value:1.5",
				} {
					if got[key] != want {
						t.Errorf("%s is %q, want %q", key, got[key], want)
					}
				}
				if v := s.GetAttributes()[3].GetValue().GetArrayValue().GetValues(); len(v) != 2 ||
					v[1].GetStringValue() != "\uFFFD" {
					t.Errorf("ss is %v", v)
				}
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			s := tc.span
			s.ID = id
			if s.Start.IsZero() {
				s.Start, s.End = span.Time{Time: spantest.Epoch, Source: span.TimeRequest}, spantest.At(10)
			}
			tc.check(t, only(t, span.ToOTLP([]*span.Trace{{Spans: []*span.Span{&s}}}, "")))
		})
	}
}

func TestToOTLPSharesNoMemory(t *testing.T) {
	s := &span.Span{ID: trace.SpanID{1}, Start: spantest.At(0), End: spantest.At(1)}
	got := only(t, span.ToOTLP([]*span.Trace{{Spans: []*span.Span{s}}}, ""))
	s.ID = trace.SpanID{2}
	if [8]byte(got.GetSpanId()) != (trace.SpanID{1}) {
		t.Error("the ID changed with the span's")
	}
}

func TestToOTLPOpenSpans(t *testing.T) {
	now := spantest.Epoch.Add(20 * time.Second)
	open := spantest.Unschedulable()
	if got := count(span.ToOTLP([]*span.Trace{open}, "")); got != 1 {
		t.Errorf("%d spans of a trace with one ended span were converted", got)
	}
	ended := span.EndOpen([]*span.Trace{open}, now)
	if got := count(span.ToOTLP(ended, "")); got != len(open.Spans) {
		t.Errorf("%d of %d spans were converted after EndOpen", got, len(open.Spans))
	}
	for i, s := range ended[0].Spans {
		was := open.Spans[i]
		if was.Open() && (!s.End.Equal(now) || s.Outcome != span.Unfinished) {
			t.Errorf("%s ended %v as %q", s.Name, s.End, s.Outcome)
		}
		if !was.Open() && s != was {
			t.Errorf("%s was ended and is copied", s.Name)
		}
	}
	if !open.Spans[0].Open() || open.Spans[0].Outcome != "" {
		t.Error("EndOpen changed its argument")
	}
	if early := span.EndOpen([]*span.Trace{open},
		spantest.Epoch.Add(-time.Hour)); early[0].Spans[0].Duration(now) != 0 {
		t.Error("a span ends before it starts")
	}
}

func TestToOTLPTextIsBoundedUTF8(t *testing.T) {
	long := strings.Repeat("日本", 2000)
	tr := spantest.Hostile()
	tr.Spans[0].Message, tr.Spans[0].Service = long, long
	for _, rs := range span.ToOTLP([]*span.Trace{tr}, "") {
		if _, err := proto.Marshal(rs); err != nil {
			t.Errorf("cannot be sent: %v", err)
		}
		for _, s := range rs.GetScopeSpans()[0].GetSpans() {
			for _, text := range append([]string{s.GetName(), s.GetStatus().GetMessage()},
				values(s.GetAttributes())...) {
				if len(text) > 2048 || !utf8.ValidString(text) {
					t.Errorf("%d bytes, valid UTF-8: %v: %.40q", len(text), utf8.ValidString(text), text)
				}
			}
		}
	}
}

func FuzzToOTLP(f *testing.F) {
	f.Add("name", "service", "message", "kind", int64(0), int64(1))
	f.Add("create \xff", "", strings.Repeat("é", 3000), "Pod", int64(-1<<62), int64(1<<62))
	f.Fuzz(func(t *testing.T, name, service, message, kind string, start, end int64) {
		s := &span.Span{
			Name: name, Service: service, Message: message, Status: span.StatusError,
			Object:     object.Ref{Kind: object.Kind{Kind: kind}, Name: name, Namespace: message},
			Start:      span.Time{Time: time.Unix(0, start)},
			End:        span.Time{Time: time.Unix(0, end)},
			Attributes: []attribute.KeyValue{attribute.String(service, message)},
			Events:     []span.Event{{Name: message}},
		}
		for _, rs := range span.ToOTLP([]*span.Trace{{Spans: []*span.Span{s}}}, service) {
			if _, err := proto.Marshal(rs); err != nil {
				t.Fatal(err)
			}
			for _, p := range rs.GetScopeSpans()[0].GetSpans() {
				if p.GetEndTimeUnixNano() < p.GetStartTimeUnixNano() {
					t.Fatalf("ends before it starts: %v", p)
				}
			}
		}
	})
}

func only(t *testing.T, got []*tracepb.ResourceSpans) *tracepb.Span {
	t.Helper()
	if count(got) != 1 {
		t.Fatalf("got %d spans, want 1", count(got))
	}
	return got[0].GetScopeSpans()[0].GetSpans()[0]
}

func count(all []*tracepb.ResourceSpans) int {
	n := 0
	for _, rs := range all {
		for _, ss := range rs.GetScopeSpans() {
			n += len(ss.GetSpans())
		}
	}
	return n
}

func texts(kvs []*commonpb.KeyValue) map[string]string {
	out := map[string]string{}
	for _, kv := range kvs {
		switch v := kv.GetValue().GetValue().(type) {
		case *commonpb.AnyValue_StringValue:
			out[kv.GetKey()] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			out[kv.GetKey()] = fmt.Sprint(v.IntValue)
		default:
			out[kv.GetKey()] = kv.GetValue().String()
		}
	}
	return out
}

func values(kvs []*commonpb.KeyValue) []string {
	var out []string
	for k, v := range texts(kvs) {
		out = append(out, k, v)
	}
	return out
}
