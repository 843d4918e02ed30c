// SPDX-License-Identifier: Apache-2.0

package export

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// backend answers at once and ignores the request.
func backend(t testing.TB) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		io.Copy(io.Discard, req.Body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// BenchmarkOutboxSend measures the throughput of a backlog: reading from the journal, HTTP over
// loopback, and the removal of entries.
func BenchmarkOutboxSend(b *testing.B) {
	for _, spans := range []int{2, 20, 2000} {
		b.Run(fmt.Sprintf("spans=%d", spans), func(b *testing.B) {
			const total = 20_000
			var sent int64
			for n := range b.N {
				b.StopTimer()
				w := newWorld(b)
				o := to(backend(b))
				o.Hold = true
				box := w.open(o)
				var batch []*span.Trace
				for i := range total / spans {
					if batch = append(batch, small(fmt.Sprintf("%d-%d", n, i), spans)); len(batch)*spans >= 1000 {
						w.put(batch...)
						batch = nil
					}
				}
				b.StartTimer()
				box.Hold(false)
				if err := box.Close(context.Background()); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				sent += box.Stats().Exported
				w.crash()
			}
			b.ReportMetric(float64(sent)/b.Elapsed().Seconds(), "spans/s")
		})
	}
}

// BenchmarkOutboxAdd measures the cost of an entry for the server's loop, besides its commit.
// 100,000 entries wait, and the limit is reached.
func BenchmarkOutboxAdd(b *testing.B) {
	w := newWorld(b)
	o := OutboxOptions{Options: Options{Endpoint: "http://127.0.0.1:1"}, Hold: true, MaxSpans: 1_000_000}
	box := w.open(o)
	one := journal.Item{For: journal.Sender, Spans: 10, AsOf: w.clock.Now()}
	for range 100_000 {
		one.Seq++
		box.Add(one)
	}
	for b.Loop() {
		one.Seq++
		box.Add(one)
	}
}

// BenchmarkOutboxOpen measures a start with 100,000 entries, and their memory.
func BenchmarkOutboxOpen(b *testing.B) {
	const total = 100_000
	w := newWorld(b)
	o := OutboxOptions{Options: Options{Endpoint: "http://127.0.0.1:1"}, Hold: true}
	w.open(o)
	t := small("a", 10)
	for range total / 1000 {
		batch := make([]*span.Trace, 1000)
		for i := range batch {
			batch[i] = t
		}
		w.commit(entries(batch...)...)
	}
	w.crash()
	j, err := journal.Open(b.Context(), w.path)
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	var opening time.Duration
	var before, after runtime.MemStats
	for range b.N {
		runtime.GC()
		runtime.ReadMemStats(&before)
		began := time.Now()
		box, err := OpenOutbox(b.Context(), OutboxOptions{Options: o.Options, Hold: true, Log: j, Now: w.clock.Now})
		if err != nil {
			b.Fatal(err)
		}
		opening += time.Since(began)
		runtime.GC()
		runtime.ReadMemStats(&after)
		if stats := box.Stats(); stats.Entries != total {
			b.Fatalf("it stands at %+v", stats)
		}
		if err := box.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(opening.Seconds()*1000/float64(b.N), "ms/open")
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/total, "bytes/entry")
}
