// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// read loads a recording of a real cluster.
func read(tb testing.TB, path string) []*observation.Observation {
	tb.Helper()
	r, err := observation.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Close()
	var out []*observation.Observation
	for {
		o, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, o)
	}
}

// TestRecordings replays recordings of real clusters. The traces equal the golden file, for
// observations in any order and with repeats.
func TestRecordings(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.jsonl.gz")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			seen := read(t, path)
			end := seen[len(seen)-1].Seen.Add(time.Minute)
			traces := observe(seen).Traces(end)
			unique(t, traces)
			got := outline(traces)
			golden := strings.TrimSuffix(path, ".jsonl.gz") + ".out"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("traces differ from %s (-want +got); -update rewrites it:\n%s", golden, diff)
			}
			for seed := range uint64(10) {
				if diff := cmp.Diff(got, outline(observe(permuted(seen, seed)).Traces(end))); diff != "" {
					t.Fatalf("permutation %d gives other traces (-first +permuted):\n%s", seed, diff)
				}
			}
		})
	}
}

// unique checks that no two spans of a trace share an ID.
func unique(t *testing.T, traces []*span.Trace) {
	t.Helper()
	for _, tr := range traces {
		ids := map[trace.SpanID]*span.Span{}
		for _, s := range tr.Spans {
			if other := ids[s.ID]; other != nil {
				t.Errorf("%s %s and %s %s have one ID", s.Name, s.Object.Name, other.Name, other.Object.Name)
			}
			ids[s.ID] = s
		}
	}
}

// FuzzEngine feeds a recording with observations left out, repeated and out of order. The engine
// must not panic, every parent must be in its trace, and the same set must give the same traces.
func FuzzEngine(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.jsonl.gz")
	if err != nil {
		f.Fatal(err)
	}
	var all [][]*observation.Observation
	for _, p := range paths {
		all = append(all, read(f, p))
	}
	f.Add(uint8(0), uint64(1), []byte{0xff})
	f.Add(uint8(0), uint64(2), []byte{0x55, 0xaa})
	f.Fuzz(func(t *testing.T, which uint8, seed uint64, keep []byte) {
		seen := all[int(which)%len(all)]
		var some []*observation.Observation
		for i, o := range seen {
			if len(keep) == 0 || keep[i/8%len(keep)]&(1<<(i%8)) != 0 {
				some = append(some, o)
			}
		}
		end := seen[len(seen)-1].Seen.Add(time.Minute)
		traces := observe(some).Traces(end)
		valid(t, traces)
		if diff := cmp.Diff(outline(traces), outline(observe(permuted(some, seed)).Traces(end))); diff != "" {
			t.Errorf("permuted input gives other traces (-first +permuted):\n%s", diff)
		}
	})
}

// valid checks that every parent is in its trace, and that no span ends before it starts.
func valid(t *testing.T, traces []*span.Trace) {
	t.Helper()
	for _, tr := range traces {
		known := map[string]bool{}
		for _, s := range tr.Spans {
			known[s.ID.String()] = true
		}
		for _, s := range tr.Spans {
			if s.Parent.IsValid() && !s.RemoteParent && !known[s.Parent.String()] {
				t.Errorf("%s %s is an orphan", s.Name, s.Object.Name)
			}
			if !s.Open() && s.End.Before(s.Start.Time) {
				t.Errorf("%s %s ends before it starts", s.Name, s.Object.Name)
			}
		}
	}
}
