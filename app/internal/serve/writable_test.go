// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/received"
	"github.com/kube-lifeline/lifeline/app/internal/source/audit"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/stitch"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// filling is a ledger that fails while it is full.
type filling struct {
	ledger
	full   atomic.Bool
	writes atomic.Int64
}

func (f *filling) Commit(ctx context.Context, c *journal.Changes) error {
	if f.full.Load() {
		return store.ErrFull
	}
	f.writes.Add(1)
	return f.ledger.Commit(ctx, c)
}

// looping returns a running loop without watches, over a journal that may be full.
func looping(t *testing.T) (*loop, *filling) {
	t.Helper()
	w := newWorld(t, t.TempDir())
	st := &filling{ledger: w.Journal}
	j := &joining{stitch: stitch.New(stitch.Options{Kept: true}), stats: func(joiningStats) {}}
	r := w.restoreOver(t, st, recorderOptions{Joining: j})
	l := loopOver(r.recorder)
	must(t, l.Start(t.Context()))
	t.Cleanup(func() { _ = l.Stop() })
	return l, st
}

// loopOver returns a loop without watches.
func loopOver(r *recorder) *loop {
	m, _ := noMetrics()
	log := slog.New(slog.DiscardHandler)
	return newLoop(newIntake(), r, loopOptions{
		Now: newClock(time.Now, time.Time{}, nil).Now, Received: received.New(time.Now()),
		Progress: &progress{log: log}, Metrics: m.loop, Errors: m.storage.errors, Log: log,
	})
}

// TestFullDiskIsAnswered: while the journal cannot be written, both receivers answer
// at once, take nothing, and take it once there is room again.
func TestFullDiskIsAnswered(t *testing.T) {
	seen := read(t, "../lifecycle/testdata/rollout.real.jsonl.gz")
	_, _, pod, at := pods(t)
	batch := []*observation.Observation{seen[0]}
	cases := map[string]func(in *intake, ctx context.Context) error{
		"audit webhook": func(in *intake, ctx context.Context) error { return in.takeInStored(ctx, batch) },
		"OTLP": func(in *intake, ctx context.Context) error {
			return in.Accept(ctx, []*span.Span{syncOf(1, pod, at)})
		},
	}
	// The API server gives up after 30 s, a Collector after 5.
	const deadline = 20 * time.Second
	for name, send := range cases {
		t.Run(name, func(t *testing.T) {
			l, st := looping(t)
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			defer cancel()
			st.full.Store(true)
			// The first batch finds out that the disk is full.
			if err := l.in.takeInStored(ctx, batch); !errors.Is(err, audit.ErrFull) || !errors.Is(err, store.ErrFull) {
				t.Fatalf("got %v, want that the store is full", err)
			}
			began := time.Now()
			const times = 3 * backlog
			for range times { // more than may wait for the loop
				if err := send(l.in, ctx); !errors.Is(err, store.ErrFull) {
					t.Fatalf("got %v, want that the store is full", err)
				}
			}
			if took := time.Since(began); took > deadline/2 {
				t.Errorf("%d answers took %v", times, took)
			}
			if n := l.in.waiting(); n > 0 {
				t.Errorf("%d observations were taken and refused", n)
			}
			st.full.Store(false)
			for {
				before := st.writes.Load()
				err := send(l.in, ctx)
				if err == nil {
					if st.writes.Load() == before {
						t.Error("it was taken, and nothing was stored")
					}
					break
				}
				if !errors.Is(err, store.ErrFull) || ctx.Err() != nil {
					t.Fatalf("with room again: %v", err)
				}
			}
		})
	}
}

// TestFullDiskIsIncomplete: while looks wait for room, the view reports it. The next stored look ends that.
func TestFullDiskIsIncomplete(t *testing.T) {
	seen := read(t, "../lifecycle/testdata/rollout.real.jsonl.gz")
	w := newWorld(t, t.TempDir())
	st := &filling{ledger: w.Journal}
	l := loopOver(w.restoreOver(t, st, recorderOptions{}).recorder)
	var got []error
	l.Delayed = func(err error) { got = append(got, err) }
	for _, full := range []bool{false, true, true, false} {
		st.full.Store(full)
		for _, o := range seen[:10] {
			if !l.recorder.blocked() {
				l.recorder.observe(o)
			}
		}
		seen = seen[10:]
		err := l.look(t.Context())
		if last := got[len(got)-1]; errors.Is(err, store.ErrFull) != full || errors.Is(last, store.ErrFull) != full {
			t.Errorf("full %t: the look has %v, the view %v", full, err, last)
		}
	}
}

// TestFullBacklogIsAnswered: batches that wait for the loop are refused when the
// store fails meanwhile, however many wait.
func TestFullBacklogIsAnswered(t *testing.T) {
	seen := read(t, "../lifecycle/testdata/rollout.real.jsonl.gz")
	in := newIntake() // nothing takes from it
	for range backlog {
		in.items <- item{observation: seen[0]}
	}
	got := make(chan error, 2)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	go func() { got <- in.takeInStored(ctx, seen[:1]) }()
	<-in.items // for the observation, so that its end waits
	go func() { got <- in.Accept(ctx, nil) }()
	in.writable.set(store.ErrReadOnly)
	for range 2 {
		if err := <-got; !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("got %v, want the error of the store", err)
		}
	}
}
