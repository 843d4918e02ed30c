// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

func testPruneByAge(t *testing.T, open Open) {
	s, b := open(t), batch(1)
	for n := 1; n <= 5; n++ {
		b.Finished = append(b.Finished, change(n, 2))
	}
	put(t, s, b)
	for name, tc := range map[string]store.Limits{"no limits": {}, "room enough": {Bytes: 1 << 40}} {
		if got, err := s.Prune(t.Context(), tc); err != nil || got.Traces != 0 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	got, err := s.Prune(t.Context(), store.Limits{Before: second(3)})
	if err != nil || got.Traces != 2 {
		t.Errorf("pruned %+v, %v", got, err)
	}
	if left := names(list(t, s, store.Query{})); left != "5 4 3" {
		t.Errorf("left %q", left)
	}
	if after := stats(t, s); after.Traces != 3 || after.Open != 0 || after.Spans != 6 || after.Writes != 3 ||
		after.Revision != 1 {
		t.Errorf("stats are %+v", after)
	}
	writes, err := s.Writes(t.Context(), store.WriteQuery{})
	if err != nil || len(writes.Writes) != 3 {
		t.Errorf("writes of a pruned trace: %+v, %v", writes, err)
	}
}

func testPruneBySize(t *testing.T, open Open) {
	s := open(t)
	empty := stats(t, s).Bytes
	const traces = 600
	b := batch(1)
	for n := 1; n <= traces; n++ {
		b.Finished = append(b.Finished, change(n, 10))
	}
	put(t, s, b)
	full := stats(t, s).Bytes
	limit := empty + (full-empty)/2
	got, err := s.Prune(t.Context(), store.Limits{Bytes: limit})
	must(t, err)
	after := stats(t, s)
	if after.Bytes > limit || got.Bytes != full-after.Bytes || got.Traces != traces-after.Traces {
		t.Errorf("of %d bytes, limit %d, %d are left; pruned %+v", full, limit, after.Bytes, got)
	}
	if after.Traces < traces/3 {
		t.Errorf("only %d traces are left", after.Traces)
	}
	if _, err := s.Trace(t.Context(), store.Scope{}, change(traces, 1).ID); err != nil {
		t.Errorf("the newest should be there: %v", err)
	}
	if _, err := s.Prune(t.Context(), store.Limits{Bytes: 1}); err != nil {
		t.Fatal(err)
	}
	if left := stats(t, s); left.Traces != 0 {
		t.Errorf("an impossible limit leaves %+v", left)
	}
}

// testPruneByOutcome: traces of one outcome have their own limit of age, and go last for space.
func testPruneByOutcome(t *testing.T, open Open) {
	fill := func(traces int) store.Archive {
		s, b := open(t), batch(1)
		for n := 1; n <= traces; n++ {
			c := change(n, 10)
			if n%3 == 0 {
				c.Outcome = span.Failed
			}
			if n%3 == 1 {
				c.Outcome = span.Superseded
			}
			b.Finished = append(b.Finished, c)
		}
		put(t, s, b)
		return s
	}
	for name, tc := range map[string]struct {
		reason string
		limits store.Limits
		want   string
	}{
		"longer": {
			reason: "failed traces are kept longer",
			limits: store.Limits{Before: second(10), Outcomes: map[span.Outcome]time.Time{span.Failed: second(6)}},
			want:   "12 11 10 9 6",
		},
		"for ever": {
			reason: "no time is no limit",
			limits: store.Limits{Before: second(20), Outcomes: map[span.Outcome]time.Time{span.Failed: {}}},
			want:   "12 9 6 3",
		},
		"shorter": {
			reason: "the others have no limit",
			limits: store.Limits{Outcomes: map[span.Outcome]time.Time{
				span.Failed: second(20), span.Superseded: second(9),
			}},
			want: "11 10 8 5 2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			s := fill(12)
			pruned, err := s.Prune(t.Context(), tc.limits)
			must(t, err)
			left := list(t, s, store.Query{})
			if names(left) != tc.want || pruned.Traces != int64(12-len(left)) {
				t.Errorf("left %q, want %q; pruned %+v", names(left), tc.want, pruned)
			}
		})
	}
	s := fill(600)
	limit := stats(t, s).Bytes / 2
	limits := store.Limits{Bytes: limit, Outcomes: map[span.Outcome]time.Time{span.Failed: second(0)}}
	if _, err := s.Prune(t.Context(), limits); err != nil {
		t.Fatal(err)
	}
	failed := list(t, s, store.Query{Limit: 1000, Outcomes: []span.Outcome{span.Failed}})
	if got := stats(t, s); len(failed) != 200 || got.Bytes > limit || got.Traces == 200 {
		t.Errorf("of 200 failed traces, %d are left for space; %+v", len(failed), got)
	}
}

func testPin(t *testing.T, open Open) {
	s, b := open(t), batch(1)
	for n := 1; n <= 5; n++ {
		b.Finished = append(b.Finished, change(n, 2))
	}
	b.Amendments = []*span.Trace{amendment(change(9, 1), "of an unknown trace")}
	put(t, s, b)
	for _, n := range []int{2, 3, 5} {
		must(t, s.Pin(t.Context(), change(n, 1).ID, true))
	}
	must(t, s.Pin(t.Context(), change(3, 1).ID, false))
	again := batch(2)
	again.Finished = []*span.Trace{change(2, 3)} // a second version
	put(t, s, again)
	for _, l := range []store.Limits{
		{Before: second(100)},
		{Bytes: 1},
		{Outcomes: map[span.Outcome]time.Time{span.Converged: second(100)}},
	} {
		if _, err := s.Prune(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		left := list(t, s, store.Query{})
		if names(left) != "5 2" || !left[0].Pinned || !left[1].Pinned {
			t.Errorf("%+v left %+v", l, left)
		}
	}
	for _, n := range []int{1, 9} {
		if err := s.Pin(t.Context(), change(n, 1).ID, true); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("change %d: %v", n, err)
		}
	}
	if r := get(t, s, change(2, 1).ID); !r.Pinned || r.Spans != 3 {
		t.Errorf("the trace is %+v", r.Summary)
	}
}
