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
	"github.com/kube-lifeline/lifeline/app/internal/telemetry"
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
	s := &server{log: slog.New(slog.DiscardHandler), metrics: telemetry.NewMetrics(func(*telemetry.Metrics) {})}
	s.clock = newClock(time.Now, time.Time{}, nil)
	s.received = received.New(time.Now())
	w := newWorld(t, t.TempDir())
	st := &filling{ledger: w.Journal}
	j := &joining{stitch: stitch.New(stitch.Options{Kept: true}), stats: func(joiningStats) {}}
	r := w.restoreOver(t, st, recorderOptions{Joining: j})
	l := newLoop(s, r.recorder)
	ended := make(chan error, 1)
	go func() { ended <- l.run() }()
	t.Cleanup(func() {
		l.stop()
		close(l.ended)
		<-ended
	})
	return l, st
}

// TestFullDiskIsAnswered: while the journal cannot be written, both receivers answer
// at once, take nothing, and take it once there is room again.
func TestFullDiskIsAnswered(t *testing.T) {
	seen := read(t, "../lifecycle/testdata/rollout.real.jsonl.gz")
	_, _, pod, at := pods(t)
	batch := []*observation.Observation{seen[0]}
	cases := map[string]func(l *loop, ctx context.Context) error{
		"audit webhook": func(l *loop, ctx context.Context) error { return l.takeInStored(ctx, batch) },
		"OTLP": func(l *loop, ctx context.Context) error {
			return l.Accept(ctx, []*span.Span{syncOf(1, pod, at)})
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
			if err := l.takeInStored(ctx, batch); !errors.Is(err, audit.ErrFull) || !errors.Is(err, store.ErrFull) {
				t.Fatalf("got %v, want that the store is full", err)
			}
			began := time.Now()
			const times = 3 * backlog
			for range times { // more than may wait for the loop
				if err := send(l, ctx); !errors.Is(err, store.ErrFull) {
					t.Fatalf("got %v, want that the store is full", err)
				}
			}
			if took := time.Since(began); took > deadline/2 {
				t.Errorf("%d answers took %v", times, took)
			}
			if n := len(l.in); n > 0 {
				t.Errorf("%d observations were taken and refused", n)
			}
			st.full.Store(false)
			for {
				before := st.writes.Load()
				err := send(l, ctx)
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

// TestFullBacklogIsAnswered: batches that wait for the loop are refused when the
// store fails meanwhile, however many wait.
func TestFullBacklogIsAnswered(t *testing.T) {
	seen := read(t, "../lifecycle/testdata/rollout.real.jsonl.gz")
	l := newLoop(&server{}, nil) // takes nothing
	for range backlog {
		l.in <- item{observation: seen[0]}
	}
	got := make(chan error, 2)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	go func() { got <- l.takeInStored(ctx, seen[:1]) }()
	<-l.in // for the observation, so that its end waits
	go func() { got <- l.Accept(ctx, nil) }()
	l.s.writable.set(store.ErrReadOnly)
	for range 2 {
		if err := <-got; !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("got %v, want the error of the store", err)
		}
	}
}
