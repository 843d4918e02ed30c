// SPDX-License-Identifier: Apache-2.0

package span

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// foreigners returns n spans in kube-apiserver's form: with ten attributes, three events and a
// link.
func foreigners(n int) []*Span {
	at := time.Unix(1_800_000_000, 0).UTC()
	from := &Resource{SchemaURL: "https://opentelemetry.io/schemas/1.39.0", Attributes: []attribute.KeyValue{
		attribute.String("service.name", "apiserver"),
		attribute.String("service.instance.id", "0f6a8c6e-7ac5-4a67-9f3d-9f7d3b3e8f00"),
	}}
	var out []*Span
	for i := range n {
		s := &Span{
			TraceID: trace.TraceID{1, byte(i >> 8), byte(i)}, ID: trace.SpanID{2, byte(i >> 8), byte(i)},
			Parent: trace.SpanID{3}, RemoteParent: i%2 == 0,
			Name: "PATCH /api/v1/namespaces/{:namespace}/pods/{:name}/status", Service: "apiserver",
			Start: Time{Time: at.Add(-time.Duration(i))}, End: Time{Time: at.Add(5 * time.Millisecond)},
			Attributes: []attribute.KeyValue{
				attribute.String("audit-id", fmt.Sprintf("6e5c9f0a-5b53-4a14-8f0c-%012d", i)),
				attribute.String("http.request.method", "PATCH"),
				attribute.String("http.target", "/api/v1/namespaces/default/pods/web-6cf9d5f8b-x7k2p/status"),
				attribute.String("server.address", "10.0.0.1:6443"),
				attribute.String("network.protocol.version", "2.0"),
				attribute.String("user_agent.original", "kubelet/v1.36.3 (linux/amd64) kubernetes/0123456"),
				attribute.String("url.scheme", "https"), attribute.Int("http.response.status_code", 200),
				attribute.Int("http.response.body.size", 4096),
				attribute.Bool("sampled", true),
			},
			Links: []Link{{TraceID: trace.TraceID{9}, SpanID: trace.SpanID{9}}},
		}
		for range 3 {
			s.Events = append(s.Events, Event{
				Time: at, Name: "About to apply patch", Attributes: []attribute.KeyValue{attribute.Int("count", 7)},
			})
		}
		s.Origin = &Origin{
			TraceID: s.TraceID, Parent: s.Parent, Kind: trace.SpanKindServer,
			Scope: Scope{Name: "otelhttp", Version: "0.65.0"}, Resource: from,
		}
		out = append(out, s)
	}
	return out
}

// TestPack: spans of other components return unchanged and complete.
func TestPack(t *testing.T) {
	spans := foreigners(3)
	last := spans[2]
	last.Parent, last.RemoteParent, last.Origin.Parent = trace.SpanID{}, false, trace.SpanID{}
	last.Origin.Resource, last.Origin.TraceState, last.Origin.Kind = &Resource{}, "a=b", trace.SpanKindUnspecified
	last.Status, last.Message = StatusError, "no"
	last.Events = []Event{
		{Name: "at no time"}, {Name: "at its start", Time: last.Start.Time},
		{Name: "a moment before", Time: last.Start.Add(-1)}, {Name: "and after", Time: last.Start.Add(1)},
	}
	last.Links[0].Attributes = []attribute.KeyValue{attribute.String("", "")}
	last.Attributes = []attribute.KeyValue{
		attribute.String("empty", ""), attribute.Bool("no", false), attribute.Int64("less", -1<<63),
		attribute.Float64("pi", -3.14), {Key: "nothing"},
		attribute.ByteSlice("raw", []byte{0, 255}), attribute.StringSlice("list", []string{"x", "y"}),
		attribute.Map("map", attribute.Int("k", 1)),
	}
	got, err := Unpack(Pack(spans))
	if err != nil {
		t.Fatal(err)
	}
	same := cmp.Comparer(func(a, b attribute.Value) bool { return a.Type() == b.Type() && a.String() == b.String() })
	if diff := cmp.Diff(spans, got, same); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got[0].Origin.Resource != got[1].Origin.Resource {
		t.Error("spans of one resource do not share it any more")
	}
	if none, err := Unpack(Pack(nil)); err != nil || len(none) > 0 {
		t.Errorf("of nothing came %v, %v", none, err)
	}
	whole := Pack(spans)
	for n := range whole {
		if _, err := Unpack(whole[:n]); err == nil {
			t.Fatalf("%d of %d bytes were read", n, len(whole))
		}
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(Pack(foreigners(2)))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		spans, err := Unpack(data)
		if err != nil {
			return
		}
		again, err := Unpack(Pack(spans))
		if err != nil || len(again) != len(spans) {
			t.Errorf("%d spans became %d: %v", len(spans), len(again), err)
		}
	})
}

func BenchmarkPack(b *testing.B) {
	spans := foreigners(512)
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		out = Pack(spans)
	}
	b.ReportMetric(float64(b.N*len(spans))/b.Elapsed().Seconds(), "spans/s")
	b.ReportMetric(float64(len(out))/float64(len(spans)), "bytes/span")
}
