// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"context"
	"encoding/binary"
	"net/http"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/source/otlp"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/stitch"
)

// perRequest is how many spans a component sends at once, as its SDK batches.
const perRequest = 512

// BenchmarkReceive is the way of spans from the socket to the trace that they
// belong to: OTLP over HTTP, decoding, joining, the copy in the store with which
// they are acknowledged, and the look that hands them out. Of ten kubelet traces
// one belongs to a change.
func BenchmarkReceive(b *testing.B) {
	for name, kept := range map[string]bool{"copied": true, "in memory": false} {
		b.Run(name, func(b *testing.B) { benchmarkReceive(b, kept) })
	}
}

func benchmarkReceive(b *testing.B, kept bool) {
	b.Helper()
	at := time.Now()
	ours := &span.Trace{ID: trace.TraceID{1}}
	for i := range 64 {
		ours.Spans = append(ours.Spans, &span.Span{
			TraceID: ours.ID,
			ID:      trace.SpanID{2, byte(i)},
			Name:    "reconcile Pod",
			Service: "kubelet",
			Object: object.Ref{
				Kind:      object.Kind{Version: "v1", Kind: "Pod"},
				Namespace: "default",
				Name:      "web",
				UID:       pod(i),
			},
			Start: span.Time{Time: at.Add(-time.Minute)},
		})
		if i > 0 {
			ours.Spans[i].Parent = ours.Spans[0].ID
		}
	}
	j := &joining{
		stitch: stitch.New(stitch.Options{Drop: true, Kept: kept}),
		stats:  func(joiningStats) {},
	}
	j.open([]*span.Trace{ours}, at)
	w := newWorld(b, b.TempDir())
	r := newRecorder(w.Journal, recorderOptions{Joining: j, Warn: quietly})
	written := 0
	url, stop := receiveFor(b, otlp.SinkFunc(func(ctx context.Context, spans []*span.Span) error {
		j.accept(spans, at)
		before := j.copies.bytes
		err := r.storeCopies(ctx, at)
		written += max(0, j.copies.bytes-before)
		return err
	}), time.Now)
	var requests [][]byte
	for len(requests)*perRequest < b.N {
		requests = append(requests, request(b, len(requests), at))
	}
	b.ReportAllocs()
	b.ResetTimer()
	for n, body := range requests {
		post(b, url, body)
		if n%20 == 19 { // two looks a second at 20,000 spans a second
			at = at.Add(lookEvery)
			j.open([]*span.Trace{ours}, at)
			j.late(at)
			j.copyAll(at) // which the next request stores
		}
	}
	out := j.finished([]*span.Trace{ours}, at)
	b.StopTimer()
	b.ReportMetric(float64(len(requests)*perRequest)/b.Elapsed().Seconds(), "spans/s")
	b.ReportMetric(float64(written)/float64(len(requests)*perRequest), "copied-B/span")
	if joined := len(out[0].Spans) - len(ours.Spans); joined == 0 {
		b.Error("nothing was joined")
	}
	stop()
}

func pod(i int) types.UID {
	return types.UID("11111111-2222-3333-4444-0000000000" + string(rune('a'+i/26)) + string(rune('a'+i%26)))
}

func post(b *testing.B, url string, body []byte) {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	_ = res.Body.Close() // the status is enough
	if res.StatusCode != http.StatusOK {
		b.Fatal(res.Status)
	}
}

// request is one export of a kubelet: syncPods with eight calls each.
func request(b *testing.B, n int, at time.Time) []byte {
	b.Helper()
	text := func(key, value string) *commonpb.KeyValue {
		return &commonpb.KeyValue{
			Key:   key,
			Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: value}},
		}
	}
	var spans []*tracepb.Span
	for i := range perRequest {
		traceID, id := make([]byte, 16), make([]byte, 8)
		binary.BigEndian.PutUint64(traceID, 1<<60|uint64(n*perRequest+i/9))
		binary.BigEndian.PutUint64(id, 1<<60|uint64(n*perRequest+i))
		s := &tracepb.Span{
			TraceId:           traceID,
			SpanId:            id,
			Name:              "runtime.v1.RuntimeService/StartContainer",
			Kind:              tracepb.Span_SPAN_KIND_CLIENT,
			StartTimeUnixNano: uint64(at.UnixNano() - int64(i)),
			EndTimeUnixNano:   uint64(at.UnixNano()),
			Attributes: []*commonpb.KeyValue{
				text("rpc.system.name", "grpc"), text("rpc.method", "runtime.v1.RuntimeService/StartContainer"),
				text("rpc.response.status_code", "OK"), text("server.address", "/run/containerd/containerd.sock"),
			},
		}
		if i%9 > 0 {
			s.ParentSpanId = binary.BigEndian.AppendUint64(nil, 1<<60|uint64(n*perRequest+i-i%9))
		} else {
			uid := "another"
			if i/9%10 == 0 {
				uid = string(pod((n + i/9) % 64))
			}
			s.Name, s.Kind = "syncPod", tracepb.Span_SPAN_KIND_INTERNAL
			s.Attributes = []*commonpb.KeyValue{
				text("k8s.pod.uid", uid),
				text("k8s.pod.name", "web"),
				text("k8s.namespace.name", "default"),
			}
		}
		spans = append(spans, s)
	}
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{
		{
			Resource: &resourcepb.Resource{
				Attributes: []*commonpb.KeyValue{text("service.name", "kubelet"), text("host.name", "node-0")},
			},
			ScopeSpans: []*tracepb.ScopeSpans{{Spans: spans}},
		},
	}})
	if err != nil {
		b.Fatal(err)
	}
	return body
}
