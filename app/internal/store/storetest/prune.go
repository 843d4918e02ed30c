// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"testing"

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
	if after := stats(
		t,
		s,
	); after.Traces != 3 || after.Open != 0 || after.Spans != 6 || after.Writes != 3 ||
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
	if err != nil {
		t.Fatal(err)
	}
	after := stats(t, s)
	if after.Bytes > limit || got.Bytes != full-after.Bytes || got.Traces != traces-after.Traces {
		t.Errorf("of %d bytes, limit %d, %d are left; pruned %+v", full, limit, after.Bytes, got)
	}
	if after.Traces < traces/3 {
		t.Errorf("only %d traces are left", after.Traces)
	}
	if _, err := s.Trace(t.Context(), change(traces, 1).ID); err != nil {
		t.Errorf("the newest should be there: %v", err)
	}
	if _, err := s.Prune(t.Context(), store.Limits{Bytes: 1}); err != nil {
		t.Fatal(err)
	}
	if left := stats(t, s); left.Traces != 0 {
		t.Errorf("an impossible limit leaves %+v", left)
	}
}
