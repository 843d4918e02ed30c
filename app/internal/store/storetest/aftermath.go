// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// worsened returns a converged trace, and amendments with its aftermath: two spans of one series, and one of another.
func worsened(n int) (of *span.Trace, amendments []*span.Trace) {
	of = change(n, 3)
	root := of.Root()
	converged := root.End.Time
	for number, facts := range []span.Incidents{
		{Restarts: 1, Exits: []span.Exit{{Container: "app", Code: 137, Reason: "OOMKilled", Count: 1}}},
		{Restarts: 3, OOMKills: 3, Exits: []span.Exit{{Container: "app", Code: 137, Reason: "OOMKilled", Count: 3}}},
		{FailedProbes: 7},
	} {
		a := span.Aftermath{
			Converged: converged, Window: 30 * time.Minute, Over: true, Incidents: facts,
			Latest: converged.Add(time.Duration(1+number) * time.Minute), BeforeWindow: 24 * time.Hour,
		}
		series, place := 0, number+1
		if number > 1 {
			series, place = 1, 1
		}
		at := span.Time{Time: a.Latest, Source: span.TimeWatch}
		amendments = append(amendments, &span.Trace{ID: of.ID, Spans: []*span.Span{{
			TraceID: of.ID, ID: span.DeriveID(of.ID, span.NameAftermath, string(rune('0'+number))), Parent: root.ID,
			Name: span.NameAftermath, Service: "kubelet", Object: root.Object, Start: at, End: at,
			Attributes: a.Attributes(series, place),
		}}})
	}
	return of, amendments
}

// testAftermaths: the highest number of each series of an aftermath counts, in the trace and in lists, in any order of
// the batches.
func testAftermaths(t *testing.T, open Open) {
	of, amendments := worsened(1)
	all := []*store.Batch{batch(1), batch(2), batch(3), batch(4)}
	all[0].Finished = []*span.Trace{of, change(2, 3)}
	for i, a := range amendments {
		all[i+1].Amendments = []*span.Trace{a}
	}
	var want map[string]any
	for name, order := range map[string][]int{
		"in order": {0, 1, 2, 3}, "before": {3, 2, 1, 0}, "mixed": {2, 0, 3, 1}, "again": {0, 1, 2, 1, 3, 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			for _, i := range order {
				put(t, s, all[i])
			}
			got := get(t, s, of.ID)
			const text = "3 restarts, 7 failed probes in 3 min (none in the day before): " +
				"container app exited with 137 (OOMKilled)"
			if got.Outcome != span.Converged || got.Aftermath == nil || got.Aftermath.Text() != text {
				t.Errorf("got %s, %+v", got.Outcome, got.Aftermath)
			}
			if n := len(slices.Collect(spans(got.Trace, span.NameAftermath))); n != 2 {
				t.Errorf("the trace has %d aftermaths", n)
			}
			for _, sum := range list(t, s, store.Query{}) {
				if d := diff(sum.ID == of.ID, sum.Aftermath != nil && sum.Aftermath.Text() == text); d != "" {
					t.Errorf("a list has %+v for %s", sum.Aftermath, sum.ID)
				}
			}
			if some := list(t, s, store.Query{Worse: true}); len(some) != 1 || some[0].ID != of.ID {
				t.Errorf("worse are %+v", some)
			}
			if now := contents(t, s); want == nil {
				want = now
			} else if d := diff(want, now); d != "" {
				t.Errorf("-other order +got:\n%s", d)
			}
		})
	}
}

// spans yields the spans of a name.
func spans(t *span.Trace, name string) func(yield func(*span.Span) bool) {
	return func(yield func(*span.Span) bool) {
		for _, s := range t.Spans {
			if s.Name == name && !yield(s) {
				return
			}
		}
	}
}
