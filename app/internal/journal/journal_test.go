// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// both are all consumers.
const both = journal.Archive | journal.Sender

// open opens a new journal.
func open(t testing.TB) *journal.Journal {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "journal.db"))
}

// openAt opens a journal. The end of the test closes it.
func openAt(t testing.TB, path string) *journal.Journal {
	t.Helper()
	j, err := journal.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return j
}

// commit commits changes at the sample time, and returns their revision.
func commit(t testing.TB, j *journal.Journal, c *journal.Changes) int64 {
	t.Helper()
	if c.AsOf.IsZero() {
		c.AsOf = spantest.Epoch
	}
	if err := j.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return c.Revision
}

// entry returns an entry for the consumers, with a small trace of that number.
func entry(n int, to journal.Consumer) *journal.Entry {
	return &journal.Entry{Item: journal.Item{For: to}, Trace: numbered(n)}
}

// numbered returns a trace of some spans, with an ID of its own.
func numbered(n int) *span.Trace {
	tr := spantest.Many(2 + n%7)
	tr.ID = span.DeriveTraceID("numbered", strconv.Itoa(n))
	for _, s := range tr.Spans {
		s.TraceID = tr.ID
	}
	return tr
}

// pending returns the numbers of the entries that wait for any of the consumers.
func pending(t testing.TB, j *journal.Journal, of journal.Consumer) []uint64 {
	t.Helper()
	items, err := j.Pending(t.Context(), of)
	if err != nil {
		t.Fatal(err)
	}
	seqs := make([]uint64, len(items))
	for i := range items {
		seqs[i] = items[i].Seq
	}
	return seqs
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var sameValues = cmp.Comparer(
	func(a, b attribute.Value) bool { return a.Type() == b.Type() && a.String() == b.String() },
)

// TestCommit: everything of a commit is there afterwards, and after another Open.
func TestCommit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := openAt(t, path)
	var wrote int
	j.Wrote = func(d time.Duration) {
		if d > 0 {
			wrote++
		}
	}
	began := time.Now()
	if j.Opening().Version != 0 || j.Opening().SetAside != "" || j.Path() != path {
		t.Errorf("opened %s: %+v", j.Path(), j.Opening())
	}
	first := commit(t, j, &journal.Changes{State: map[string][]byte{
		"engine": []byte("v1"), "empty": {}, "gone": []byte("x"), "stays": []byte("y"),
	}})
	if at := time.UnixMicro(first); at.Sub(began).Abs() > time.Minute {
		t.Errorf("the first revision is of %s", at)
	}
	traces := []*span.Trace{spantest.Rollout(), spantest.CrashLoop(), numbered(3)}
	asOf := spantest.Epoch.Add(time.Minute + time.Nanosecond)
	entries := []*journal.Entry{
		{Item: journal.Item{For: journal.Archive}, Trace: traces[0]},
		{Item: journal.Item{For: journal.Sender, Amends: true}, Trace: traces[1]},
		{Item: journal.Item{For: both}, Trace: traces[2]},
	}
	second := commit(t, j, &journal.Changes{
		AsOf:    asOf,
		State:   map[string][]byte{"engine": []byte("v2"), "gone": nil, "never there": nil},
		Entries: entries,
	})
	if second != first+1 || wrote != 2 {
		t.Errorf("revision %d came after %d; %d durations", second, first, wrote)
	}
	var want []journal.Item
	for i, e := range entries {
		if e.Bytes < 100 || e.Bytes > 100_000 {
			t.Errorf("entry %d has %d bytes", e.Seq, e.Bytes)
		}
		want = append(want, journal.Item{
			Seq: uint64(i + 1), Revision: second, AsOf: asOf, TraceID: traces[i].ID, Spans: len(traces[i].Spans),
			Amends: i == 1, For: []journal.Consumer{journal.Archive, journal.Sender, both}[i], Bytes: e.Bytes,
		})
		if d := cmp.Diff(want[i], e.Item); d != "" {
			t.Errorf("the item of the committed entry (-want +got):\n%s", d)
		}
	}
	for _, when := range []string{"before", "after"} {
		got, err := j.Pending(t.Context(), both)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("pending %s another Open: %v (-want +got):\n%s", when, err, d)
		}
		for i, tr := range traces {
			got, err := j.Read(t.Context(), uint64(i+1))
			if d := cmp.Diff(tr, got, sameValues); d != "" || err != nil {
				t.Errorf("entry %d %s another Open: %v (-want +got):\n%s", i+1, when, err, d)
			}
		}
		states, err := j.States(t.Context(), "")
		if d := cmp.Diff(map[string][]byte{
			"engine": []byte("v2"), "empty": {}, "stays": []byte("y"),
		}, states); d != "" || err != nil {
			t.Errorf("state %s another Open: %v (-want +got):\n%s", when, err, d)
		}
		must(t, j.Close())
		must(t, j.Close()) // harmless
		j = openAt(t, path)
	}
	if j.Opening().Version == 0 {
		t.Errorf("opened again: %+v", j.Opening())
	}
	if third := commit(t, j, &journal.Changes{}); third != second+1 {
		t.Errorf("revision %d came after %d", third, second)
	}
	if n, err := j.Used(t.Context()); err != nil || n < 4096 || n > 1<<20 {
		t.Errorf("it uses %d bytes, %v", n, err)
	}
}

func TestState(t *testing.T) {
	j := open(t)
	commit(t, j, &journal.Changes{State: map[string][]byte{"engine": []byte("v1"), "empty": {}}})
	for name, want := range map[string]string{"engine": "v1", "empty": ""} {
		if got, err := j.State(t.Context(), name); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"", "e", "engine/"} {
		if got, err := j.State(t.Context(), name); !errors.Is(err, store.ErrNotFound) || got != nil ||
			!strings.Contains(err.Error(), j.Path()) {
			t.Errorf("%q is %q, %v", name, got, err)
		}
	}
}

// TestStatesOfAPrefix compares States with a filter by prefix.
func TestStatesOfAPrefix(t *testing.T) {
	j := open(t)
	names := []string{
		"", "a", "a/", "a/1", "a/\x00", "a/é", "a/\U0010ffff", "a/\xff", "a/\xff\xff", "a0", "b", "\xff", "\xff\xff1",
	}
	c := &journal.Changes{State: map[string][]byte{}}
	for _, name := range names {
		c.State[name] = []byte(name)
	}
	commit(t, j, c)
	for _, prefix := range append(names, "a/\xc3", "zz") {
		want := map[string][]byte{}
		for _, name := range names {
			if strings.HasPrefix(name, prefix) {
				want[name] = []byte(name)
			}
		}
		got, err := j.States(t.Context(), prefix)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", prefix, err, d)
		}
	}
}

// TestComesAndGoes is the life of a journal: each look adds a chunk and some entries, and removes
// older ones. The files must not grow, and shrink when less is kept.
func TestComesAndGoes(t *testing.T) {
	j := open(t)
	size := func() int64 {
		t.Helper()
		var total int64
		for _, suffix := range []string{"", "-wal"} {
			info, err := os.Stat(j.Path() + suffix)
			must(t, err)
			total += info.Size()
		}
		return total
	}
	const looks, waiting, each = 400, 50, 5
	chunk := make([]byte, 10_000)
	name := func(n int) string { return fmt.Sprintf("journal/%020d", n) }
	var settled int64
	for n := range looks {
		c := &journal.Changes{State: map[string][]byte{name(n): chunk, name(n - waiting): nil}}
		for i := range each {
			c.Entries = append(c.Entries, entry(n*each+i, both))
		}
		commit(t, j, c)
		if n >= waiting {
			oldest := pending(t, j, both)[:each]
			must(t, j.Done(t.Context(), journal.Archive, oldest...))
			must(t, j.Done(t.Context(), journal.Sender, oldest...))
		}
		if n == looks/3 {
			settled = size()
		}
	}
	if last := size(); last > settled*5/4 {
		t.Errorf("the files grew from %d to %d bytes, with a constant amount of data", settled, last)
	}
	if got := len(pending(t, j, both)); got != waiting*each {
		t.Errorf("%d entries wait", got)
	}
	before, err := j.Used(t.Context())
	must(t, err)
	must(t, j.GiveBack(t.Context(), time.Time{}))
	was, err := os.Stat(j.Path())
	must(t, err)
	c := &journal.Changes{State: map[string][]byte{}}
	for n := range looks {
		c.State[name(n)] = nil
	}
	commit(t, j, c)
	must(t, j.Done(t.Context(), both, pending(t, j, both)...))
	must(t, j.GiveBack(t.Context(), spantest.Epoch.Add(1))) // kept traces, too
	after, err := j.Used(t.Context())
	must(t, err)
	is, err := os.Stat(j.Path())
	must(t, err)
	if after > before/4 || is.Size() > was.Size()/4 {
		t.Errorf("%d used bytes became %d, and a file of %d bytes one of %d", before, after, was.Size(), is.Size())
	}
}

func TestCancelled(t *testing.T) {
	j := open(t)
	commit(t, j, &journal.Changes{Entries: []*journal.Entry{entry(1, both)}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, call := range map[string]func() error{
		"commit":   func() error { return j.Commit(ctx, &journal.Changes{State: map[string][]byte{"a": {1}}}) },
		"pending":  func() error { _, err := j.Pending(ctx, both); return err },
		"read":     func() error { _, err := j.Read(ctx, 1); return err },
		"done":     func() error { return j.Done(ctx, both, 1) },
		"states":   func() error { _, err := j.States(ctx, ""); return err },
		"kept":     func() error { _, _, err := j.Kept(ctx, trace.TraceID{1}); return err },
		"keep":     func() error { return j.Keep(ctx, []trace.TraceID{{1}}, spantest.Epoch, true) },
		"giveback": func() error { return j.GiveBack(ctx, time.Time{}) },
	} {
		if err := call(); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), j.Path()) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := pending(t, j, both); len(got) != 1 {
		t.Errorf("%v wait", got)
	}
	if states, err := j.States(t.Context(), ""); err != nil || len(states) != 0 {
		t.Errorf("state %v, %v", states, err)
	}
}

func TestClosed(t *testing.T) {
	j := open(t)
	must(t, j.Close())
	for name, call := range map[string]func() error{
		"commit":  func() error { return j.Commit(t.Context(), &journal.Changes{}) },
		"pending": func() error { _, err := j.Pending(t.Context(), both); return err },
		"read":    func() error { _, err := j.Read(t.Context(), 1); return err },
		"done":    func() error { return j.Done(t.Context(), both, 1) },
		"states":  func() error { _, err := j.States(t.Context(), ""); return err },
	} {
		if err := call(); !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNumbersAreNotUsedAgain: neither a removal, nor a failure, nor another process uses the number
// of an entry again.
func TestNumbersAreNotUsedAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := openAt(t, path)
	commit(t, j, &journal.Changes{Entries: []*journal.Entry{entry(1, both), entry(2, journal.Sender)}})
	must(t, j.Done(t.Context(), both, 1, 2))
	if got := pending(t, j, both); len(got) != 0 {
		t.Errorf("%v wait", got)
	}
	must(t, j.Close())
	j = openAt(t, path)
	failed, other := entry(3, both), entry(4, both)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := j.Commit(ctx, &journal.Changes{Entries: []*journal.Entry{failed}}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	commit(t, j, &journal.Changes{Entries: []*journal.Entry{other}})
	c := &journal.Changes{Entries: []*journal.Entry{failed}}
	commit(t, j, c)
	commit(t, j, c) // a repetition changes nothing
	if failed.Seq != 3 || other.Seq != 4 {
		t.Errorf("the numbers are %d and %d", failed.Seq, other.Seq)
	}
	if d := cmp.Diff([]uint64{3, 4}, pending(t, j, both)); d != "" {
		t.Errorf("pending (-want +got):\n%s", d)
	}
	for _, e := range []*journal.Entry{failed, other} {
		got, err := j.Read(t.Context(), e.Seq)
		if d := cmp.Diff(e.Trace, got, sameValues); d != "" || err != nil {
			t.Errorf("entry %d: %v (-want +got):\n%s", e.Seq, err, d)
		}
	}
	must(t, j.Close())
	j = openAt(t, path)
	last := entry(5, both)
	commit(t, j, &journal.Changes{Entries: []*journal.Entry{last}})
	if last.Seq != 5 {
		t.Errorf("the next number is %d", last.Seq)
	}
}

// TestTimes: times around those that 64 bits of nanoseconds hold.
func TestTimes(t *testing.T) {
	j := open(t)
	for _, at := range []time.Time{
		time.Unix(0, math.MinInt64), time.Unix(0, -1), time.Unix(0, 0), time.Unix(0, math.MaxInt64),
	} {
		commit(t, j, &journal.Changes{AsOf: at, Entries: []*journal.Entry{entry(1, both)}})
		items, err := j.Pending(t.Context(), both)
		if err != nil || !items[len(items)-1].AsOf.Equal(at) {
			t.Errorf("%s became %+v, %v", at, items, err)
		}
	}
}
