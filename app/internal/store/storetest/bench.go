// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// many is the number of traces for the benchmarks of lists.
const many = 10_000

// Benchmark measures an engine: the rate of finished traces, and queries of 10,000 traces.
func Benchmark(b *testing.B, open Open) {
	b.Run("Write", func(b *testing.B) {
		s := open(b)
		spans, n := 0, 0
		b.ResetTimer()
		for range b.N {
			w := batch(int64(n + 1))
			for range 100 {
				n++
				w.Finished = append(w.Finished, change(n, 10))
				spans += 10
			}
			put(b, s, w)
		}
		b.ReportMetric(float64(spans)/b.Elapsed().Seconds(), "spans/s")
		b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "traces/s")
		b.ReportMetric(float64(stats(b, s).Bytes)/float64(spans), "bytes/span")
	})
	b.Run("WriteRollouts", func(b *testing.B) {
		s, h := open(b), Year(10_000)
		spans, lifecycles, n := 0, 0, 0
		for range b.N {
			b.StopTimer()
			w := batch(int64(n + 1))
			for range 20 {
				t := h.Trace(n)
				n++
				w.Finished = append(w.Finished, t)
				spans += len(t.Spans)
				lifecycles += h.Lifecycles()
			}
			b.StartTimer()
			put(b, s, w)
		}
		b.ReportMetric(float64(spans)/b.Elapsed().Seconds(), "spans/s")
		b.ReportMetric(float64(lifecycles)/b.Elapsed().Seconds(), "lifecycles/s")
		b.ReportMetric(float64(stats(b, s).Bytes)/float64(spans), "bytes/span")
	})
	b.Run("Amend", func(b *testing.B) {
		s, t, w := open(b), change(1, 1000), batch(1)
		w.Finished = []*span.Trace{t}
		put(b, s, w)
		for n := range b.N {
			w := batch(int64(n + 2))
			w.Amendments = []*span.Trace{amendment(t, number(n%1000))}
			put(b, s, w)
		}
	})
	b.Run("Read", func(b *testing.B) { benchmarkReads(b, open(b)) })
}

func benchmarkReads(b *testing.B, s store.Archive) {
	b.Helper()
	for n := 0; n < many; n += 500 {
		w := batch(int64(n + 1))
		for i := n; i < n+500; i++ {
			w.Finished = append(w.Finished, change(i, 10))
		}
		put(b, s, w)
	}
	for _, q := range []struct {
		name  string
		query store.Query
		want  int
	}{
		{"List100", store.Query{}, 100},
		{"ListAll", store.Query{Limit: many}, many},
		{"ListMiddle", store.Query{Until: second(many / 2)}, 100},
		{"ListNoneFailed", store.Query{Outcomes: []span.Outcome{span.Failed}}, 0},
		{"ListNoneSlow", store.Query{Slower: time.Hour}, 0},
		{"ListNoneInNamespace", store.Query{Object: object.Ref{Namespace: "none"}}, 0},
		{"ListOfObject", store.Query{Object: object.Ref{Name: "change-005000-000003"}}, 1},
	} {
		b.Run(q.name, func(b *testing.B) {
			for range b.N {
				if got := list(b, s, q.query); len(got) != q.want {
					b.Fatalf("got %d traces", len(got))
				}
			}
		})
	}
	b.Run("Trace", func(b *testing.B) {
		for n := range b.N {
			get(b, s, change(n%many, 1).ID)
		}
	})
	b.Run("Stats", func(b *testing.B) {
		for range b.N {
			stats(b, s)
		}
	})
}
