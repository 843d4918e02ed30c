// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
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
			if diff := gocmp.Diff(ids, got); diff != "" {
				t.Errorf("the same spans, live or late: -want +got:\n%s", diff)
			}
		})
	}
}

// TestWritesOfAnOutageKeepTheirOrder: a server is killed at any place of a recording. The writes after it
// arrive late, and their times have whole seconds. They are still not before the earlier writes to their
// object: a creation that was seen live comes before the status that its controller wrote in the same second.
func TestWritesOfAnOutageKeepTheirOrder(t *testing.T) {
	for _, file := range []string{
		"create-heal-delete.kwok", "several-people.kwok", "cert-manager.kwok", "rollout.real",
	} {
		t.Run(file, func(t *testing.T) {
			seen := read(t, "testdata/"+file+".jsonl.gz")
			back := seen[len(seen)-1].Seen.Add(10 * time.Second)
			step := 1
			if testing.Short() {
				step = 10
			}
			for kill := 0; kill < len(seen); kill += step {
				e := New(Options{Cluster: "test"})
				for i, o := range seen {
					if i >= kill && o.Source == observation.SourceWatch && !o.Baseline {
						late := *o
						late.Seen, late.Listed, late.Late = back, true, true
						o = &late
					}
					e.Observe(o)
				}
				for _, tr := range e.Traces(back.Add(time.Hour)) {
					for _, s := range tr.Spans {
						checkOrder(t, s, kill)
					}
				}
				if t.Failed() {
					return
				}
			}
		})
	}
}

// checkOrder checks that the times of the writes to the object of s follow its resourceVersions.
func checkOrder(t *testing.T, s *span.Span, kill int) {
	t.Helper()
	if s.Facts == nil {
		return
	}
	own := slices.DeleteFunc(slices.Clone(s.Facts.Writes), func(w span.Write) bool { return w.Of != nil })
	slices.SortFunc(own, func(a, b span.Write) int { return cmp.Compare(a.ResourceVersion, b.ResourceVersion) })
	for i := 1; i < len(own); i++ {
		if before, w := own[i-1], own[i]; w.End.Before(before.End) {
			t.Errorf("killed at observation %d: %s %s: version %d (%s) is from %s, and version %d (%s) from %s",
				kill, s.Object.Kind.Kind, s.Object.Name, before.ResourceVersion, before.Verb,
				before.End.Format(time.RFC3339Nano), w.ResourceVersion, w.Verb, w.End.Format(time.RFC3339Nano))
		}
	}
}
