// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
)

// entry is an entry of ten bytes and two spans.
func entry(seq uint64, look int64, by journal.Consumer) journal.Item {
	return journal.Item{Seq: seq, Revision: look, AsOf: at(look), Spans: 2, Bytes: 10, For: by}
}

func at(look int64) time.Time { return time.Unix(look, 0) }

// waiting is a backlog with the entries 1 and 2 of look 7, and 4 of look 8.
func waiting() *backlog {
	b := new(backlog)
	b.add([]journal.Item{
		entry(1, 7, journal.Archive), entry(2, 7, journal.Archive|journal.Sender), entry(3, 7, journal.Sender),
		entry(4, 8, journal.Archive),
	})
	return b
}

func seqs(items []journal.Item) (out []uint64) {
	for _, i := range items {
		out = append(out, i.Seq)
	}
	return out
}

func TestBacklog(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		events func(*backlog)
		// want are the entries that wait, those of the first look, and those to mark.
		waiting, look, done []uint64
		stats               Stats
		// flushed is the last entry that is flushed with all before it.
		flushed uint64
	}{
		"New": {
			"the entries of other consumers do not wait", func(*backlog) {},
			[]uint64{1, 2, 4}, []uint64{1, 2}, nil, Stats{Entries: 3, Bytes: 30, Oldest: at(7)}, 0,
		},
		"Left": {
			"an archived entry waits for its mark", func(b *backlog) { b.leave(2, 0) },
			[]uint64{4}, []uint64{4}, []uint64{1, 2}, Stats{Entries: 1, Bytes: 10, Oldest: at(8)}, 0,
		},
		"Marked": {
			"a marked entry is flushed", func(b *backlog) { b.leave(2, 0); b.mark(2) },
			[]uint64{4}, []uint64{4}, nil, Stats{Entries: 1, Bytes: 10, Oldest: at(8)}, 3,
		},
		"MarkedInPart": {
			"an entry that was archived during the marking waits for its own",
			func(b *backlog) { b.leave(1, 0); b.leave(2, 0); b.mark(1) },
			nil, nil, []uint64{2, 4}, Stats{}, 1,
		},
		"Lost": {
			"the spans of lost entries are counted", func(b *backlog) { b.leave(3, 5); b.mark(3) },
			nil, nil, nil, Stats{Dropped: 5}, 9,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := waiting()
			c.events(b)
			for what, lists := range map[string][2][]uint64{
				"waiting": {c.waiting, seqs(b.first(9))}, "first look": {c.look, seqs(b.firstLook())},
				"to mark": {c.done, b.unmarked()},
			} {
				if diff := cmp.Diff(lists[0], lists[1]); diff != "" {
					t.Errorf("%s: %s: -want +got:\n%s", c.reason, what, diff)
				}
			}
			if diff := cmp.Diff(c.stats, b.stats()); diff != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, diff)
			}
			if !b.isFlushed(c.flushed) || c.flushed < b.last() && b.isFlushed(c.flushed+1) {
				t.Errorf("%s: %d is not the last flushed entry", c.reason, c.flushed)
			}
		})
	}
}

func TestBacklogBeyondItsLimits(t *testing.T) {
	for name, c := range map[string]struct {
		bytes  int
		before time.Time
		want   int
	}{
		"Within":    {30, at(7), 0},
		"Bytes":     {29, at(7), 1},
		"ManyBytes": {10, at(7), 2},
		"Age":       {30, at(8), 2},
		"Both":      {0, at(8), 3},
	} {
		t.Run(name, func(t *testing.T) {
			b := waiting()
			if n, spans := b.beyond(c.bytes, c.before); n != c.want || spans != 2*c.want {
				t.Errorf("%d entries with %d spans, want %d with %d", n, spans, c.want, 2*c.want)
			}
			if b.stats().Entries != 3 {
				t.Error("the count has removed entries")
			}
		})
	}
}
