// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"k8s.io/client-go/util/workqueue"
)

// benched are the queues to compare, each untraced one before its traced one.
var benched = []struct {
	name     string
	newQueue func() workqueue.TypedRateLimitingInterface[string]
}{
	{"plain/bare", func() workqueue.TypedRateLimitingInterface[string] {
		return workqueue.NewTypedRateLimitingQueue[string](&fixed{})
	}},
	{"plain/traced", func() workqueue.TypedRateLimitingInterface[string] { return kinds["plain"](&fixed{}) }},
	{"priority/bare", func() workqueue.TypedRateLimitingInterface[string] { return barePriority(&fixed{}) }},
	{"priority/traced", func() workqueue.TypedRateLimitingInterface[string] { return kinds["priority"](&fixed{}) }},
}

// BenchmarkTurn puts one item through the queue: Add, Get, Done.
func BenchmarkTurn(b *testing.B) {
	for _, bm := range benched {
		b.Run(bm.name, func(b *testing.B) {
			q := bm.newQueue()
			b.ReportAllocs()
			for b.Loop() {
				q.Add("default/a")
				item, _ := q.Get()
				q.Done(item)
			}
			q.ShutDown()
		})
	}
}

// BenchmarkMemory measures the memory per item: of 100,000 items in the queue, and after their
// turns.
func BenchmarkMemory(b *testing.B) {
	const keys = 100_000
	all := make([]string, keys)
	for n := range all {
		all[n] = fmt.Sprintf("default/key-%d", n)
	}
	for _, bm := range benched {
		b.Run(bm.name, func(b *testing.B) {
			var waiting, left uint64
			idle := runtime.NumGoroutine()
			for b.Loop() {
				for runtime.NumGoroutine() > idle { // goroutines of the previous queue still refer to it
					runtime.Gosched()
				}
				before := heap()
				q := bm.newQueue()
				for _, key := range all {
					q.Add(key)
				}
				_ = q.Len() // flushes the buffer of a priority queue
				waiting = heap() - before
				for range all {
					item, _ := q.Get()
					q.Done(item)
				}
				left = max(heap(), before) - before
				runtime.KeepAlive(q)
				q.ShutDown()
			}
			b.ReportMetric(float64(waiting)/keys, "B/waiting")
			b.ReportMetric(float64(left)/keys, "B/left")
		})
	}
	runtime.KeepAlive(all)
}

func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// BenchmarkWork measures the overhead of a worker loop per turn.
func BenchmarkWork(b *testing.B) {
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(discard{}))
	sampled := spanContext(1)
	cases := []struct {
		name string
		work func(ctx context.Context, w *Work)
	}{
		{"Nothing", func(ctx context.Context, w *Work) {
			w.SetParent(sampled)
			w.End(ctx, nil)
		}},
		{"Unsampled", func(ctx context.Context, w *Work) {
			w.SetParent(sampled.WithTraceFlags(0))
			w.Start(ctx)
			w.End(ctx, nil)
		}},
		{"Sampled", func(ctx context.Context, w *Work) {
			w.SetParent(sampled)
			w.Start(ctx)
			w.End(ctx, nil)
		}},
		{"Failed", func(ctx context.Context, w *Work) {
			w.SetParent(sampled)
			w.End(ctx, errBench)
		}},
	}
	for _, bm := range cases {
		b.Run(bm.name, func(b *testing.B) {
			q := New(
				&fixed{},
				workqueue.TypedRateLimitingQueueConfig[string]{Name: "head"},
				WithTracerProvider(provider),
			)
			q.Add("default/a")
			item, _ := q.Get()
			ctx := context.Background()
			b.ReportAllocs()
			for b.Loop() {
				within, work := q.Begin(ctx, item)
				bm.work(within, work)
			}
			q.Done(item)
			q.ShutDown()
		})
	}
}

var errBench = errors.New("no such image")

type discard struct{}

func (discard) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (discard) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (discard) Shutdown(context.Context) error                  { return nil }
func (discard) ForceFlush(context.Context) error                { return nil }
