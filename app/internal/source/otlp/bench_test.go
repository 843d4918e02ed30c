// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// requests returns a request of n spans like those of kube-apiserver: each has ten attributes,
// three events and a link.
func requests(n int) ptraceotlp.ExportRequest {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.SetSchemaUrl("https://opentelemetry.io/schemas/1.39.0")
	for k, v := range map[string]string{
		"service.name": "apiserver", "service.instance.id": "0f6a8c6e-7ac5-4a67-9f3d-9f7d3b3e8f00",
		"telemetry.sdk.name":     "opentelemetry",
		"telemetry.sdk.language": "go", "telemetry.sdk.version": "1.47.0",
	} {
		rs.Resource().Attributes().PutStr(k, v)
	}
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName("go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp")
	ss.Scope().SetVersion("0.65.0")
	for i := range n {
		s := ss.Spans().AppendEmpty()
		s.SetTraceID(pcommon.TraceID{1, byte(i >> 8), byte(i)})
		s.SetSpanID(pcommon.SpanID{2, byte(i >> 8), byte(i)})
		s.SetParentSpanID(pcommon.SpanID{3})
		s.SetName("PATCH /api/v1/namespaces/{:namespace}/pods/{:name}/status")
		s.SetKind(ptrace.SpanKindServer)
		s.SetFlags(0x301)
		s.SetStartTimestamp(pcommon.Timestamp(epoch.UnixNano() + int64(i)))
		s.SetEndTimestamp(pcommon.Timestamp(epoch.UnixNano() + int64(i) + 5_000_000))
		a := s.Attributes()
		a.PutStr("audit-id", "6e5c9f0a-5b53-4a14-8f0c-000000000"+string(rune('a'+i%26))+"aa")
		a.PutStr("http.request.method", "PATCH")
		a.PutStr("http.target", "/api/v1/namespaces/default/pods/web-6cf9d5f8b-x7k2p/status")
		a.PutStr("server.address", "10.0.0.1:6443")
		a.PutStr("network.protocol.version", "2.0")
		a.PutStr("user_agent.original", "kubelet/v1.36.3 (linux/amd64) kubernetes/0123456")
		a.PutStr("url.scheme", "https")
		a.PutInt("http.response.status_code", 200)
		a.PutInt("http.response.body.size", 4096)
		a.PutBool("sampled", true)
		for range 3 {
			e := s.Events().AppendEmpty()
			e.SetTimestamp(s.StartTimestamp())
			e.SetName("About to apply patch")
			e.Attributes().PutInt("count", 7)
		}
		l := s.Links().AppendEmpty()
		l.SetTraceID(pcommon.TraceID{9})
		l.SetSpanID(pcommon.SpanID{9})
	}
	return ptraceotlp.NewExportRequestFromTraces(td)
}

func BenchmarkDecode(b *testing.B) {
	const spans = 512
	req := requests(spans)
	wire, err := req.MarshalProto()
	if err != nil {
		b.Fatal(err)
	}
	text, err := req.MarshalJSON()
	if err != nil {
		b.Fatal(err)
	}
	clock := func() time.Time { return epoch }
	for name, bench := range map[string]struct {
		body []byte
		read func([]byte) (int, error)
	}{
		"protobuf": {wire, func(body []byte) (int, error) {
			in := newBatch(clock, 1<<30)
			err := in.readProto(body)
			return len(in.spans), err
		}},
		"json": {text, func(body []byte) (int, error) {
			in := newBatch(clock, 1<<30)
			err := in.readJSON(body)
			return len(in.spans), err
		}},
		"protobuf by generated code": {wire, func(body []byte) (n int, err error) {
			var in coltracepb.ExportTraceServiceRequest
			err = proto.Unmarshal(body, &in)
			for _, rs := range in.GetResourceSpans() {
				for _, ss := range rs.GetScopeSpans() {
					for _, s := range ss.GetSpans() {
						span.FromKeyValues(s.GetAttributes())
						for _, e := range s.GetEvents() {
							span.FromKeyValues(e.GetAttributes())
						}
						n++
					}
				}
			}
			return n, err
		}},
		"pdata": {wire, func(body []byte) (int, error) {
			in := ptraceotlp.NewExportRequest()
			err := in.UnmarshalProto(body)
			return in.Traces().SpanCount(), err
		}},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(bench.body)))
			for b.Loop() {
				if n, err := bench.read(bench.body); err != nil || n != spans {
					b.Fatal(n, err)
				}
			}
			b.ReportMetric(float64(b.N*spans)/b.Elapsed().Seconds(), "spans/s")
		})
	}
}
