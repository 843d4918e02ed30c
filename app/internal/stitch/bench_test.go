// SPDX-License-Identifier: Apache-2.0

package stitch_test

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/stitch"
)

func BenchmarkAccept(b *testing.B) {
	var f foreign
	f.request(by{1, 1}, postDeployments, "audit", 1, 4)
	spans := make([]*span.Span, b.N)
	for i := range spans {
		one := *f.list[i%4]
		one.TraceID = trace.TraceID{1, 12: byte(i >> 26), 13: byte(i >> 18), 14: byte(i >> 10), 15: byte(i >> 2)}
		spans[i] = &one
	}
	s := stitch.New(stitch.Options{})
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < len(spans); i += 512 {
		s.Accept(spans[i:min(len(spans), i+512)], now)
	}
}

// BenchmarkHandOver measures the whole path of a change's spans: accepted, joined, and returned
// with their trace.
func BenchmarkHandOver(b *testing.B) {
	r := load(b, "recording-apply-run")
	b.ReportAllocs()
	b.ResetTimer()
	spans := 0
	for range b.N {
		s := stitch.New(stitch.Options{})
		s.Accept(r.spans, r.end)
		for _, ours := range r.ours {
			s.Join(ours, true, r.end)
		}
		s.Late()
		s.Expire(r.end.Add(time.Hour))
		spans += len(r.spans)
	}
	b.ReportMetric(float64(spans)/b.Elapsed().Seconds(), "spans/s")
}

// BenchmarkJoinUnchanged joins a trace without changes since the last call.
func BenchmarkJoinUnchanged(b *testing.B) {
	r := load(b, "recording-apply-run")
	s := stitch.New(stitch.Options{})
	s.Accept(r.spans, r.end)
	b.ReportAllocs()
	for range b.N {
		for _, ours := range r.ours {
			s.Join(ours, false, r.end)
		}
	}
}

// BenchmarkBuffered measures the memory of a waiting span, and its counted size.
func BenchmarkBuffered(b *testing.B) {
	r := load(b, "recording-apply-run")
	const copies = 50
	for range b.N {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		s := stitch.New(stitch.Options{})
		for i := range copies {
			batch := make([]*span.Span, 0, len(r.spans))
			for _, from := range r.spans {
				one := *from
				one.TraceID[0], one.TraceID[1] = byte(i), byte(i>>8)
				one.Attributes = slices.Clone(from.Attributes)
				batch = append(batch, &one)
			}
			s.Accept(batch, now)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		st := s.Stats()
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(st.Buffered), "heap-B/span")
		b.ReportMetric(float64(st.Bytes)/float64(st.Buffered), "counted-B/span")
		runtime.KeepAlive(s)
	}
}
