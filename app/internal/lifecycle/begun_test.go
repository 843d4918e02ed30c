// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// traffic is a recording of two Deployments that are changed, and whose Pods are deleted, every 300 ms.
// The controllers are always some changes behind.
const traffic = "testdata/busy/traffic.kwok.jsonl.gz"

// TestBegunLate: an observer that begins in the middle of something puts no write into the trace of a
// later change that did not cause it. The write belongs to the change found under way, or to a separate
// trace.
func TestBegunLate(t *testing.T) {
	all := recordings(t)
	all["traffic"] = read(t, traffic)
	for name, seen := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := placements(seen)
			changes := map[trace.TraceID]bool{}
			for _, p := range whole {
				changes[p.trace] = true
			}
			cuts := 1000
			if testing.Short() {
				cuts = 50
			}
			told := map[string]bool{}
			for n := 1; n < len(seen); n += max(len(seen)/cuts, 1) {
				late := placements(begunAt(seen, n))
				before := newestBefore(seen, n)
				for _, w := range slices.SortedFunc(maps.Keys(late), inOrder) {
					got, want := late[w], whole[w]
					wrong := want.write != "" && got.trace != want.trace && changes[got.trace]
					if wrong && got.root > before && !told[got.write] {
						told[got.write] = true
						t.Errorf(
							"begun after %d observations: %s is in %s, want %s",
							n,
							got.write,
							got.change,
							want.change,
						)
					}
				}
			}
		})
	}
}

// placement is the place of a write: its trace, its reconciliation, and the change at the root.
type placement struct {
	trace         trace.TraceID
	root          uint64 // resourceVersion of the trace's first write
	write, change string
}

// placements returns the trace of each write that began a reconciliation.
func placements(seen []*observation.Observation) map[stored]placement {
	out := map[stored]placement{}
	for _, tr := range observe(seen).Traces(seen[len(seen)-1].Seen.Add(time.Hour)) {
		root := tr.Root()
		for _, s := range tr.Spans {
			if rv := firstWrite(s); rv > 0 && strings.HasPrefix(s.Name, "reconcile ") {
				out[stored{string(s.Object.UID), rv}] = placement{
					trace: tr.ID, root: firstWrite(root), write: fmt.Sprintf("%s %s at %d", s.Name, s.Object.Name, rv),
					change: fmt.Sprintf("%s %s at %d", root.Name, root.Object.Name, firstWrite(root)),
				}
			}
		}
	}
	return out
}

// firstWrite returns the resourceVersion of the first write event of a span.
func firstWrite(s *span.Span) uint64 {
	for _, e := range s.Events {
		if e.Name == span.EventWrite {
			return number(e.Attributes, span.KeyRV)
		}
	}
	return 0
}

// newestBefore is the highest resourceVersion of the first n observations.
func newestBefore(seen []*observation.Observation, n int) uint64 {
	newest := uint64(0)
	for _, o := range seen[:n] {
		if o.State != nil {
			newest = max(newest, o.State.ResourceVersion)
		}
	}
	return newest
}

func inOrder(a, b stored) int {
	return cmp.Or(cmp.Compare(a.rv, b.rv), strings.Compare(a.uid, b.uid))
}

// begunAt returns the observations of an observer that begins after the first n: a list of the
// objects at that time, and all later observations.
func begunAt(seen []*observation.Observation, n int) []*observation.Observation {
	newest := map[types.UID]*observation.Observation{}
	for _, o := range seen[:n] {
		switch {
		case o.State != nil:
			if known := newest[o.State.UID]; known == nil || known.State.ResourceVersion < o.State.ResourceVersion {
				newest[o.State.UID] = o
			}
		case o.Gone != nil:
			delete(newest, o.Gone.UID)
		}
	}
	var out []*observation.Observation
	for _, o := range newest {
		listed := *o
		listed.Baseline, listed.Listed, listed.Seen = true, true, seen[n].Seen
		out = append(out, &listed)
	}
	slices.SortFunc(out, func(a, b *observation.Observation) int { return cmp.Compare(a.State.UID, b.State.UID) })
	for _, o := range seen[n:] {
		if o.Write == nil && o.Run == nil { // requests were not observed
			out = append(out, o)
		}
	}
	return out
}
