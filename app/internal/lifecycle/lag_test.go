// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// TestLag holds the engine to the same trees when each watch is up to 10 s late: every reconciliation
// has the trace and the parent that it has without lag. The order of two storages is that of arrival, so all
// objects of such a recording are late alike.
func TestLag(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			recorded := read(t, path)
			late := lagging
			if slices.ContainsFunc(recorded, foreign) {
				late = lateAlike
			}
			want := strings.Join(edges(recorded), "\n")
			seeds := uint64(20)
			if testing.Short() {
				seeds = 3
			}
			for seed := range seeds {
				got := strings.Join(edges(late(recorded, seed)), "\n")
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("lag %d gives other trees (-without +with):\n%s", seed, diff)
				}
			}
		})
	}
}

func foreign(o *observation.Observation) bool { return o.State != nil && o.State.Order != 0 }

// lateAlike is lagging with one delay for all objects.
func lateAlike(seen []*observation.Observation, seed uint64) []*observation.Observation {
	return delayed(seen, seed, func(kind string) string {
		if kind == "Event" {
			return kind
		}
		return "object"
	})
}

// edges returns a line for each reconciliation in the traces of an observer with two looks a second: its
// object, trace and parent.
func edges(seen []*observation.Observation) []string {
	e, at := New(Options{Cluster: "test"}), seen[0].Seen
	var told []*span.Trace
	look := func(until time.Time) {
		for ; at.Before(until); at = at.Add(500 * time.Millisecond) {
			told = append(append(told, e.Take(at)...), e.Amendments()...)
		}
	}
	for _, o := range seen {
		look(o.Seen)
		e.Observe(o)
	}
	look(at.Add(20 * time.Minute))
	told = append(told, e.Traces(at)...)
	var out []string
	objects := map[string]string{}
	for _, tr := range told {
		for _, s := range tr.Spans {
			objects[s.ID.String()] = s.Name + " " + s.Object.Name
		}
	}
	for _, tr := range told {
		for _, s := range tr.Spans {
			if strings.HasPrefix(s.Name, "reconcile ") {
				out = append(out, fmt.Sprintf("%s %s: trace %s, span %s below %s", s.Name, s.Object.Name, tr.ID, s.ID,
					objects[s.Parent.String()]))
			}
		}
	}
	slices.Sort(out)
	return out
}
