// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// foundLater returns the observations of an observer an hour after a recording: the last version of
// every object that still exists, and the Events.
func foundLater(seen []*observation.Observation) []*observation.Observation {
	at := seen[len(seen)-1].Seen.Add(time.Hour)
	last := map[types.UID]*observation.State{}
	var out []*observation.Observation
	for _, o := range seen {
		switch {
		case o.State != nil &&
			(last[o.State.UID] == nil || last[o.State.UID].ResourceVersion < o.State.ResourceVersion):
			last[o.State.UID] = o.State
		case o.Event != nil:
			out = append(
				out,
				&observation.Observation{Seen: at, Listed: true, Source: observation.SourceWatch, Event: o.Event},
			)
		}
	}
	for _, o := range seen {
		if o.Gone != nil {
			delete(last, o.Gone.UID)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(last)) {
		out = append(out, &observation.Observation{
			Seen:     at,
			Listed:   true,
			Baseline: true,
			Source:   observation.SourceWatch,
			State:    last[uid],
		})
	}
	return out
}

// timetable returns the outline of traces with the start and end of each span and their sources.
// The times are in seconds from the minute of the first span.
func timetable(traces []*span.Trace) string {
	var b strings.Builder
	for _, tr := range traces {
		lines := strings.Split(strings.TrimSuffix(outline([]*span.Trace{tr}), "\n"), "\n")
		first := tr.Spans[0].Start.Truncate(time.Minute)
		b.WriteString(lines[0] + "\n")
		for i, s := range tr.Spans {
			end := "…"
			if !s.Open() {
				end = fmt.Sprintf("%.3g %s", s.End.Sub(first).Seconds(), s.End.Source)
			}
			fmt.Fprintf(&b, "%s  [%.3g %s, %s]\n", lines[i+1], s.Start.Sub(first).Seconds(), s.Start.Source, end)
		}
	}
	return b.String()
}

// TestRebuild: the objects found an hour later give the traces of the golden file, in any order.
func TestRebuild(t *testing.T) {
	for name, seen := range recordings(t) {
		t.Run(name, func(t *testing.T) {
			found := foundLater(seen)
			now := seen[len(seen)-1].Seen.Add(2 * time.Hour)
			look := func(found []*observation.Observation) string {
				e := New(Options{Cluster: "test", Rebuild: true})
				for _, o := range found {
					e.Observe(o)
				}
				return timetable(e.Traces(now))
			}
			got := look(found)
			golden := filepath.Join("testdata", "rebuild", strings.TrimSuffix(name, ".jsonl.gz")+".out")
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
			for seed := range uint64(5) {
				if diff := cmp.Diff(got, look(permuted(found, seed))); diff != "" {
					t.Fatalf("permutation %d gives other traces (-first +permuted):\n%s", seed, diff)
				}
			}
		})
	}
}
