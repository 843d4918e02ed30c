// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

// wantKept compares what the journal has of a trace.
func wantKept(t *testing.T, j *journal.Journal, id trace.TraceID, kept, sent bool) {
	t.Helper()
	k, s, err := j.Kept(t.Context(), id)
	if err != nil || k != kept || s != sent {
		t.Errorf("%s: kept %t, sent %t, %v; want %t, %t", id, k, s, err, kept, sent)
	}
}

// TestKept: finished traces are kept beyond their entries. The first decision about sending stays.
func TestKept(t *testing.T) {
	j := open(t)
	sent, unsent, amended := entry(1, both), entry(2, journal.Archive), entry(3, both)
	amended.Amends = true
	commit(t, j, &journal.Changes{Entries: []*journal.Entry{sent, unsent, amended}})
	must(t, j.Done(t.Context(), both, 1, 2, 3))
	check := func() {
		t.Helper()
		wantKept(t, j, sent.TraceID, true, true)
		wantKept(t, j, unsent.TraceID, true, false)
		wantKept(t, j, amended.TraceID, false, false)
		wantKept(t, j, trace.TraceID{}, false, false)
	}
	check()
	commit(t, j, &journal.Changes{Entries: []*journal.Entry{entry(1, journal.Archive), entry(2, both)}})
	check()
	must(t, j.Close())
	j = openAt(t, j.Path())
	check()
	must(t, j.Keep(t.Context(), []trace.TraceID{unsent.TraceID, {1}, {2}}, spantest.Epoch, true))
	check()
	wantKept(t, j, trace.TraceID{1}, true, true)
	must(t, j.Keep(t.Context(), []trace.TraceID{{3}}, spantest.Epoch, false))
	wantKept(t, j, trace.TraceID{3}, true, false)
}

// TestKeptIsBounded by age and in number. The age counts from the last mention.
func TestKeptIsBounded(t *testing.T) {
	j := open(t)
	at := func(n int) time.Time { return spantest.Epoch.Add(time.Duration(n) * time.Hour) }
	id := func(n int) trace.TraceID { return trace.TraceID{byte(n)} }
	for n := 1; n <= 10; n++ {
		must(t, j.Keep(t.Context(), []trace.TraceID{id(n)}, at(n), false))
	}
	must(t, j.Keep(t.Context(), []trace.TraceID{id(1)}, at(10), false)) // mentioned again
	left := func(gone ...int) {
		t.Helper()
		for n := 1; n <= 10; n++ {
			kept := true
			for _, m := range gone {
				kept = kept && m != n
			}
			wantKept(t, j, id(n), kept, false)
		}
	}
	must(t, j.GiveBack(t.Context(), at(2)))
	left()
	must(t, j.GiveBack(t.Context(), at(4)))
	left(2, 3)
	must(t, journal.ForgetKept(j, t.Context(), time.Time{}, 8))
	left(2, 3)
	must(t, journal.ForgetKept(j, t.Context(), time.Time{}, 5))
	left(2, 3, 4, 5, 6)
	// Of many at the same time, as many as the bound stay.
	var ids []trace.TraceID
	for n := range 100 {
		ids = append(ids, trace.TraceID{1, byte(n)})
	}
	must(t, j.Keep(t.Context(), ids, at(11), true))
	must(t, journal.ForgetKept(j, t.Context(), time.Time{}, 30))
	n := 0
	for _, id := range ids {
		if kept, _, err := j.Kept(t.Context(), id); err != nil {
			t.Fatal(err)
		} else if kept {
			n++
		}
	}
	if n != 30 {
		t.Errorf("%d stay", n)
	}
	left(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
}
