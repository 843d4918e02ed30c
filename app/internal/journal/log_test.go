// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// TestDone marks random entries for random consumers, and compares the log with a model.
func TestDone(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			j := open(t)
			waits := map[uint64]journal.Consumer{}
			last := uint64(0)
			for range 40 {
				switch random.IntN(3) {
				case 0:
					c := &journal.Changes{}
					for range random.IntN(4) {
						last++
						waits[last] = journal.Consumer(1 + random.IntN(3))
						c.Entries = append(c.Entries, entry(int(last), waits[last]))
					}
					commit(t, j, c)
				default:
					by := journal.Consumer(1 + random.IntN(3))
					var seqs []uint64
					for range random.IntN(6) {
						seq := uint64(random.IntN(int(last) + 2)) // some do not exist
						seqs = append(seqs, seq)
						if waits[seq] &^= by; waits[seq] == 0 {
							delete(waits, seq)
						}
					}
					must(t, j.Done(t.Context(), by, seqs...))
				}
				compare(t, j, waits, last)
			}
		})
	}
}

// compare compares the log with the consumers that each entry waits for.
func compare(t *testing.T, j *journal.Journal, waits map[uint64]journal.Consumer, last uint64) {
	t.Helper()
	for _, of := range []journal.Consumer{journal.Archive, journal.Sender, both} {
		want := []uint64{}
		for seq := uint64(1); seq <= last; seq++ {
			if waits[seq]&of != 0 {
				want = append(want, seq)
			}
		}
		if d := cmp.Diff(want, pending(t, j, of)); d != "" {
			t.Fatalf("waiting for %d (-want +got):\n%s", of, d)
		}
	}
	for seq := uint64(0); seq <= last+1; seq++ {
		got, err := j.Read(t.Context(), seq)
		if waits[seq] == 0 {
			if !errors.Is(err, store.ErrNotFound) || !strings.Contains(err.Error(), j.Path()) {
				t.Fatalf("entry %d is done: %v", seq, err)
			}
		} else if err != nil || got.ID != numbered(int(seq)).ID {
			t.Fatalf("entry %d: %v", seq, err)
		}
	}
}

// TestDoneMany: more entries than one transaction marks.
func TestDoneMany(t *testing.T) {
	j := open(t)
	const total = 2500
	c := &journal.Changes{}
	for n := range total {
		c.Entries = append(c.Entries, entry(n, both))
	}
	commit(t, j, c)
	all := pending(t, j, journal.Archive)
	must(t, j.Done(t.Context(), journal.Archive, all...))
	if got := len(pending(t, j, journal.Sender)); got != total {
		t.Errorf("%d entries wait for the sender", got)
	}
	must(t, j.Done(t.Context(), journal.Sender, all...))
	must(t, j.Done(t.Context(), journal.Sender, all...)) // changes nothing
	must(t, j.Done(t.Context(), journal.Sender))
	if got := len(pending(t, j, both)); got != 0 {
		t.Errorf("%d entries wait", got)
	}
}

// TestReadDamaged: an unreadable entry harms no other one.
func TestReadDamaged(t *testing.T) {
	j := open(t)
	commit(t, j, &journal.Changes{Entries: []*journal.Entry{entry(1, both), entry(2, both), entry(3, both)}})
	must(t, j.Close())
	db, err := sql.Open("sqlite", j.Path())
	must(t, err)
	_, err = db.ExecContext(t.Context(), "UPDATE log SET data = substr(data, 1, length(data) / 2) WHERE seq = 2")
	must(t, err)
	_, err = db.ExecContext(t.Context(), "UPDATE log SET data = x'' WHERE seq = 3")
	must(t, errors.Join(err, db.Close()))
	j = openAt(t, j.Path())
	for seq, want := range map[uint64]error{1: nil, 2: store.ErrDamaged, 3: store.ErrDamaged} {
		if _, err := j.Read(t.Context(), seq); !errors.Is(err, want) {
			t.Errorf("entry %d: %v", seq, err)
		}
	}
	must(t, j.Done(t.Context(), both, 2, 3))
	if d := cmp.Diff([]uint64{1}, pending(t, j, both)); d != "" {
		t.Errorf("pending (-want +got):\n%s", d)
	}
}

// TestConcurrent commits while both consumers work: each entry comes to each consumer, unchanged.
func TestConcurrent(t *testing.T) {
	j := open(t)
	const looks, each = 100, 5
	var all sync.WaitGroup
	ended := make(chan struct{})
	all.Go(func() {
		defer close(ended)
		for n := range looks {
			c := &journal.Changes{AsOf: spantest.Epoch, State: map[string][]byte{fmt.Sprint("chunk/", n): {1}}}
			for i := range each {
				c.Entries = append(c.Entries, entry(1+n*each+i, both))
			}
			check(t, j.Commit(t.Context(), c))
		}
	})
	all.Go(func() { // copies of spans, besides the looks
		for n := range looks {
			check(t, j.Commit(t.Context(), &journal.Changes{State: map[string][]byte{fmt.Sprint("copies/", n): {1}}}))
			_, _, err := j.Kept(t.Context(), numbered(n).ID)
			check(t, err)
			if n%20 == 0 {
				check(t, j.GiveBack(t.Context(), time.Time{}))
			}
		}
	})
	var archived, sent []uint64
	for by, to := range map[journal.Consumer]*[]uint64{journal.Archive: &archived, journal.Sender: &sent} {
		all.Go(func() {
			for last := false; !last; {
				select {
				case <-ended:
					last = true
				default:
				}
				seqs, err := consume(t.Context(), j, by)
				check(t, err)
				*to = append(*to, seqs...)
			}
		})
	}
	all.Wait()
	want := make([]uint64, looks*each)
	for i := range want {
		want[i] = uint64(i + 1)
	}
	for by, got := range map[journal.Consumer][]uint64{journal.Archive: archived, journal.Sender: sent} {
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("consumer %d (-want +got):\n%s", by, d)
		}
	}
	if left := pending(t, j, both); len(left) != 0 {
		t.Errorf("%v wait", left)
	}
	for _, prefix := range []string{"chunk/", "copies/"} {
		if states, err := j.States(t.Context(), prefix); err != nil || len(states) != looks {
			t.Errorf("%d names below %s, %v", len(states), prefix, err)
		}
	}
}

// check reports an error of a goroutine.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// consume reads the waiting entries and marks them as done.
func consume(ctx context.Context, j *journal.Journal, by journal.Consumer) ([]uint64, error) {
	items, err := j.Pending(ctx, by)
	if err != nil {
		return nil, err
	}
	var seqs []uint64
	for _, i := range items {
		tr, err := j.Read(ctx, i.Seq)
		if err != nil {
			return nil, err
		}
		if tr.ID != i.TraceID || len(tr.Spans) != i.Spans || tr.ID != numbered(int(i.Seq)).ID {
			return nil, fmt.Errorf("entry %d is %s", i.Seq, tr.ID)
		}
		seqs = append(seqs, i.Seq)
	}
	return seqs, j.Done(ctx, by, seqs...)
}
