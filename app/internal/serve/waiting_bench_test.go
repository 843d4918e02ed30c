// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bufio"
	"compress/gzip"
	"context"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
	"github.com/kube-lifeline/lifeline/app/internal/source/otlp"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/stitch"
)

// BenchmarkUntilQueryable measures a component's span from its request until the answer, and until
// readers of the store find it in its open trace. Looks have their own pace, and spans come at any
// time between two.
func BenchmarkUntilQueryable(b *testing.B) {
	seen, bound, pod, at := pods(b)
	w := newWorld(b, b.TempDir())
	began := time.Now()
	clock := newClock(func() time.Time { return at.Add(time.Since(began)) }, time.Time{}, func(time.Duration) {})
	j := &joining{stitch: stitch.New(stitch.Options{Kept: true}), stats: func(joiningStats) {}}
	r := w.restore(b, recorderOptions{Joining: j})
	for _, o := range seen[:bound+1] {
		r.observe(o)
	}
	if err := r.look(b.Context(), at); err != nil {
		b.Fatal(err)
	}
	id := r.engine.Traces(at)[0].ID
	l := loopOver(r.recorder)
	l.Now = clock.Now
	url, stop := receiveFor(b, l.in, clock.Now)
	must(b, l.Start(b.Context()))

	var acknowledged, queryable []time.Duration
	for i := range b.N {
		time.Sleep(rand.N(lookEvery))
		one := syncOf(byte(i), pod, clock.Now())
		one.ID = trace.SpanID{7, byte(i >> 8), byte(i)}
		body, err := proto.Marshal(&tracepb.TracesData{
			ResourceSpans: span.ToOTLP([]*span.Trace{{ID: one.TraceID, Spans: []*span.Span{one}}}, ""),
		})
		if err != nil {
			b.Fatal(err)
		}
		sent := time.Now()
		post(b, url, body)
		acknowledged = append(acknowledged, time.Since(sent))
		for there := false; !there; time.Sleep(time.Millisecond) {
			record := w.trace(b, id)
			there = slices.ContainsFunc(record.Trace.Spans, func(s *span.Span) bool { return s.ID == one.ID })
		}
		queryable = append(queryable, time.Since(sent))
	}
	b.ReportMetric(0, "ns/op")
	for of, all := range map[string][]time.Duration{"acknowledged": acknowledged, "queryable": queryable} {
		slices.Sort(all)
		b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, of+"-p50-ms")
		b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, of+"-p99-ms")
	}
	stop()
	must(b, l.Stop())
}

// BenchmarkWaiting is the memory that a span takes while it waits, as it is when it
// was received and decoded: a recording of all components, again and again in
// other traces.
func BenchmarkWaiting(b *testing.B) {
	requests := recordedRequests(b)
	for range b.N {
		s := stitch.New(stitch.Options{Kept: true, MaxBytes: 1 << 30})
		at := time.Now()
		url, stop := receiveFor(b, otlp.SinkFunc(func(_ context.Context, spans []*span.Span) error {
			s.Accept(spans, at)
			s.Fresh(1)
			return nil
		}), time.Now)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range 100 {
			for _, td := range requests {
				for _, rs := range td.GetResourceSpans() {
					for _, ss := range rs.GetScopeSpans() {
						for _, one := range ss.GetSpans() {
							one.TraceId[0] = byte(i)
						}
					}
				}
				body, err := proto.Marshal(td)
				if err != nil {
					b.Fatal(err)
				}
				post(b, url, body)
			}
		}
		stop()
		runtime.GC()
		runtime.ReadMemStats(&after)
		st := s.Stats()
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(st.Buffered), "heap-B/span")
		b.ReportMetric(float64(st.Bytes)/float64(st.Buffered), "counted-B/span")
		b.ReportMetric(float64(st.Buffered), "spans")
		runtime.KeepAlive(s)
	}
}

// recordedRequests are what the components of a real cluster sent.
func recordedRequests(b *testing.B) (out []*tracepb.TracesData) {
	b.Helper()
	file, err := os.Open("../stitch/testdata/recording-apply-plain.otlp.jsonl.gz")
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewScanner(unpacked)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(lines.Bytes())
		if err != nil {
			b.Fatal(err)
		}
		wire, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
		if err != nil {
			b.Fatal(err)
		}
		all := &tracepb.TracesData{}
		if err := proto.Unmarshal(wire, all); err != nil {
			b.Fatal(err)
		}
		out = append(out, all)
	}
	return out
}

// receiveFor runs a receiver for sink.
func receiveFor(b *testing.B, sink otlp.Sink, now func() time.Time) (url string, stop func()) {
	b.Helper()
	in, err := otlp.New(
		b.Context(),
		otlp.Options{HTTP: httpserve.Endpoint{Address: "127.0.0.1:0"}, Sink: sink, Clock: now},
	)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- in.Run(ctx) }()
	return "http://" + in.HTTPAddr().String() + otlp.DefaultPath, func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	}
}
