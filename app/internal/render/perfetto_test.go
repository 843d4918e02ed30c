// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

// TestPerfetto: every span is there, and those of one thread nest or follow each other.
func TestPerfetto(t *testing.T) {
	for _, one := range []*span.Trace{
		spantest.Many(20), spantest.Joined(), spantest.Hostile(), spantest.CrashLoop(), {}, overlapping(3 * maxLanes),
	} {
		var out bytes.Buffer
		now := spantest.At(100_000).Time
		if err := Perfetto(&out, []*span.Trace{one}, Options{Now: now}); err != nil {
			t.Fatal(err)
		}
		var doc struct {
			TraceEvents []struct {
				Ph, Name string
				Pid, Tid int
				Ts, Dur  float64
			}
		}
		if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
			t.Fatal(err)
		}
		type interval struct{ from, to float64 }
		spans, threads := 0, map[[2]int][]interval{}
		for _, e := range doc.TraceEvents {
			if e.Ph != "X" {
				continue
			}
			spans++
			at := [2]int{e.Pid, e.Tid}
			here := interval{e.Ts, e.Ts + e.Dur}
			for _, other := range threads[at] {
				const rounding = 0.5
				inside := here.from >= other.from-rounding && here.to <= other.to+rounding
				if !inside && here.from < other.to-rounding {
					t.Errorf("%s at %v overlaps %v", e.Name, here, other)
				}
			}
			threads[at] = append(threads[at], here)
		}
		if spans != len(one.Spans) {
			t.Errorf("got %d of %d spans", spans, len(one.Spans))
		}
	}
}

// overlapping returns a trace in which all spans of one component overlap, and none is inside another.
func overlapping(n int) *span.Trace {
	b := spantest.New("overlapping")
	for i := range n {
		b.Add(nil, "work", "somebody", object.Ref{}, i, 2*n+i)
	}
	return b.Trace
}

// BenchmarkPerfettoOverlaps has the worst spans for the search of lanes.
func BenchmarkPerfettoOverlaps(b *testing.B) {
	one := []*span.Trace{overlapping(10_000)}
	for b.Loop() {
		if err := Perfetto(io.Discard, one, Options{Now: spantest.At(100_000).Time}); err != nil {
			b.Fatal(err)
		}
	}
}
