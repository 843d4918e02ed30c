// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestLateArrivalsAreNotToldFromReconnection: observations after a break of a watch have the time
// of the reconnection. No span begins or ends then, and the spans equal those of a watch without a
// break.
func TestLateArrivalsAreNotToldFromReconnection(t *testing.T) {
	for name, file := range map[string]string{
		"Create":  "testdata/create.real.jsonl.gz",
		"Rollout": "testdata/rollout.real.jsonl.gz",
	} {
		t.Run(name, func(t *testing.T) {
			live, late := New(Options{Cluster: "test"}), New(Options{Cluster: "test"})
			seen := read(t, file)
			back := seen[len(seen)-1].Seen.Add(5 * time.Minute)
			for _, o := range seen {
				live.Observe(o)
				if o.Source == observation.SourceWatch && o.Gone == nil && !o.Listed {
					delayed := *o
					delayed.Seen, delayed.Listed = back, true
					o = &delayed
				}
				late.Observe(o)
			}
			ids := map[string]int{}
			for _, tr := range live.Traces(back.Add(time.Hour)) {
				for _, s := range tr.Spans {
					ids[s.ID.String()]++
				}
			}
			got := map[string]int{}
			for _, tr := range late.Traces(back.Add(time.Hour)) {
				for _, s := range tr.Spans {
					got[s.ID.String()]++
					if !s.Start.Before(back) || !s.End.Before(back) {
						t.Errorf(
							"%s %s is from %v to %v; the watch was back at %v",
							s.Name,
							s.Object.Name,
							s.Start,
							s.End,
							back,
						)
					}
				}
			}
			if diff := cmp.Diff(ids, got); diff != "" {
				t.Errorf("the same spans, live or late: -want +got:\n%s", diff)
			}
		})
	}
}
