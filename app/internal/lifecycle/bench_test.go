// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"runtime"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/cputime"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// thousand is a recording of a Deployment of 1,000 Pods coming up on KWOK
// nodes.
const thousand = "testdata/bench/1000-pods.jsonl.gz"

func readThousand(tb testing.TB) []*observation.Observation {
	tb.Helper()
	return read(tb, thousand)
}

// BenchmarkEngine is the whole way of the recording through the engine: observed,
// derived, taken.
func BenchmarkEngine(b *testing.B) {
	seen := readThousand(b)
	end := seen[len(seen)-1].Seen.Add(time.Minute)
	b.ReportAllocs()
	before := cputime.Used(b)
	for b.Loop() {
		e := New(Options{Cluster: "bench"})
		for _, o := range seen {
			e.Observe(o)
		}
		if len(e.Take(end)) == 0 {
			b.Fatal("no trace was taken")
		}
	}
	observations := float64(len(seen)) * float64(b.N)
	b.ReportMetric(observations/b.Elapsed().Seconds(), "observations/s")
	b.ReportMetric(observations/(cputime.Used(b)-before).Seconds(), "observations/cpu-s")
}

// BenchmarkEngineLive is the same with a snapshot taken as a live display or a
// server would: ten times a second of the recording's time.
func BenchmarkEngineLive(b *testing.B) {
	seen := readThousand(b)
	b.ReportAllocs()
	for b.Loop() {
		e := New(Options{Cluster: "bench"})
		var shown time.Time
		for _, o := range seen {
			e.Observe(o)
			if o.Seen.Sub(shown) > 100*time.Millisecond {
				shown = o.Seen
				e.Traces(shown)
			}
		}
	}
	b.ReportMetric(float64(len(seen))*float64(b.N)/b.Elapsed().Seconds(), "observations/s")
}

// BenchmarkEngineMemory reports the engine's state per object, open and
// converged.
func BenchmarkEngineMemory(b *testing.B) {
	readThousand(b) // fills the caches of the decoder
	for b.Loop() {
		open, arrived := memoryUsed(b, Options{Cluster: "bench"})
		b.ReportMetric(open, "B/open-object")
		b.ReportMetric(arrived, "B/converged-object")
		_, after := memoryUsed(b, aftermathOptions)
		b.ReportMetric(after/arrived, "converged-with-aftermath/converged")
	}
}

// TestMemory holds the engine to its budget: 4 KiB for an open object and 1 KiB
// for one that has converged.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("reads a large recording")
	}
	readThousand(t)
	open, arrived := memoryUsed(t, aftermathOptions)
	if open > 4096 || arrived > 1024 {
		t.Errorf(
			"state of an open object is %.0f bytes, want at most 4096; of a converged one %.0f, want at most 1024",
			open,
			arrived,
		)
	}
}

// memory returns the engine's state per object in bytes: with all objects open, and after their
// traces were taken. It reads the observations again, so that retained parts of them count.
func memoryUsed(tb testing.TB, o Options) (open, arrived float64) {
	tb.Helper()
	before := heapSize()
	e := New(o)
	var end time.Time
	func() {
		for _, o := range readThousand(tb) {
			e.Observe(o)
			end = o.Seen
		}
	}()
	objects := float64(len(e.index.Objects()))
	open = float64(heapSize()-before) / objects
	e.Take(end.Add(time.Minute))
	arrived = float64(heapSize()-before) / objects
	runtime.KeepAlive(e)
	return open, arrived
}

func heapSize() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
