// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// The items before stop are a prefix of the stream: no position is beyond a dropped observation.
func TestStopDropsTheEndOnly(t *testing.T) {
	for range 200 {
		l := newIntake()
		done := make(chan struct{})
		go func() {
			defer close(done)
			for i := range 2 * backlog {
				l.reached(watch.Position{Version: strconv.Itoa(i)})
			}
			l.end()
		}()
		first := <-l.items
		timer := time.AfterFunc(time.Microsecond, l.close)
		next := 1
		taken := func(i item) {
			if i.position.Version != strconv.Itoa(next) {
				t.Errorf("%s follows %d: something in between was dropped", i.position.Version, next-1)
			}
			next++
		}
		for ended := false; !ended; {
			select {
			case i := <-l.items:
				taken(i)
			case <-l.ended:
				ended = true
			}
		}
		for l.waiting() > 0 {
			taken(<-l.items)
		}
		<-done
		timer.Stop()
		if first.position.Version != "0" {
			t.Fatalf("begins with %s", first.position.Version)
		}
	}
}

func TestPauseAfter(t *testing.T) {
	for name, c := range map[string]struct {
		reason     string
		took, want time.Duration
	}{
		"Quick":   {"two looks a second", 3 * time.Millisecond, lookEvery},
		"Usual":   {"one part in 150 of one core", 5 * time.Millisecond, 750 * time.Millisecond},
		"Slow":    {"a look at least every 1.4 s", 100 * time.Millisecond, 1300 * time.Millisecond},
		"Backlog": {"the next look is not late as well", 650 * time.Millisecond, 750 * time.Millisecond},
		"Load":    {"half of one core", 3 * time.Second, 3 * time.Second},
	} {
		if got := pauseAfter(c.took); got != c.want {
			t.Errorf("%s: %s: a pause of %s after %s, want %s", name, c.reason, got, c.took, c.want)
		}
	}
}

// TestLookTakesWhatWaits: the time of a long look is no silence.
func TestLookTakesWhatWaits(t *testing.T) {
	_, r := begin(t, t.TempDir())
	l := newLoop(newIntake(), r.recorder, loopOptions{})
	at := watch.Position{Version: "42"}
	at.Resource.Resource, at.Resource.Version = "pods", "v1"
	for range 3 {
		l.in.reached(at)
	}
	l.takeWaiting(time.Now())
	if l.in.waiting() > 0 || len(r.reached) != 1 {
		t.Errorf("%d items wait, and %d positions are taken; want 0 and 1", l.in.waiting(), len(r.reached))
	}
}

// TestManyItems: neither the watches nor the audit log wait for the next look.
func TestManyItems(t *testing.T) {
	for name, hand := range map[string]func(context.Context, *intake) error{
		"Watch": func(_ context.Context, in *intake) error { in.hand(item{}); return nil },
		"Audit": func(ctx context.Context, in *intake) error { return in.handIn(ctx, item{}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, _ := looping(t)
				began := time.Now()
				for range 3 * backlog {
					if err := hand(t.Context(), l.in); err != nil {
						t.Fatal(err)
					}
				}
				if took := time.Since(began); took > 0 {
					t.Errorf("%d items took %v", 3*backlog, took)
				}
			})
		})
	}
}

// TestFailedSave: a failed save is repeated later, and the observations go on meanwhile.
func TestFailedSave(t *testing.T) {
	w := newWorld(t, t.TempDir())
	st := &failing{ledger: w.Journal, err: store.ErrFull}
	r := w.restoreOver(t, st, recorderOptions{})
	l := loopOver(r.recorder)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	must(t, r.look(t.Context(), now))
	for _, step := range []struct {
		reason      string
		bytes, fail int
		after       time.Duration
		saves       bool
	}{
		{"the inputs are short", 0, 0, 0, false},
		{"the disk is full", minInputs + 1, 1, 0, false},
		{"it is too early to try again", minInputs + 1, 0, 0, false},
		{"the next try", minInputs + 1, 0, saveRetry, true},
	} {
		r.inputs.bytes, st.times = step.bytes, step.fail
		if step.after > 0 {
			l.saveFailed = l.saveFailed.Add(-step.after)
		}
		if saved := l.save(t.Context()); saved != step.saves {
			t.Errorf("%s: saved %t, want %t", step.reason, saved, step.saves)
		}
		must(t, r.look(t.Context(), now))
	}
}

// TestLookAfterAWait: the observations of a look that waited are derived by the next one, also if nothing follows
// them.
func TestLookAfterAWait(t *testing.T) {
	_, r := begin(t, t.TempDir())
	waits := false
	r.Waits = func() bool { return waits }
	seen := read(t, recordings(t)[0])
	now := seen[0].Seen
	must(t, r.look(t.Context(), now)) // the first one publishes the open traces of the last process
	for _, o := range seen {
		r.observe(o)
		now = o.Seen
	}
	waits = true
	must(t, r.look(t.Context(), now))
	if len(r.open) > 0 {
		t.Fatalf("a look that waits has %d open traces", len(r.open))
	}
	if !r.idle(t.Context()) {
		t.Error("a look that goes on waiting, without observations, is not idle")
	}
	waits = false
	if r.idle(t.Context()) {
		t.Error("idle, although nothing was derived from the stored observations")
	}
	var made int
	r.Stored = func(l *look) { made = len(l.open) + len(l.finished) }
	must(t, r.look(t.Context(), now))
	if made == 0 {
		t.Error("no traces")
	}
}

// A watch that never returns, such as one of a kind without its conversion, delays stored callbacks
// no longer than it delays traces.
func TestOneWatchStaysAway(t *testing.T) {
	now := time.Now()
	var late behind
	late.synced.Store(true)
	_, r := begin(t, t.TempDir())
	r.Waits = func() bool {
		some := watch.Stats{Lag: time.Minute, Resources: []watch.ResourceStats{{Streams: 2, Connected: 1}}}
		return late.check(some, 0, now)
	}
	l := loopOver(r.recorder)
	called := false
	l.in.afterStored(func() { called = true })
	l.take(<-l.in.items, now)
	for _, step := range []struct {
		reason string
		after  time.Duration
		want   bool
	}{{"it may still return", 0, false}, {"the rest continues", catchUp, true}} {
		now = now.Add(step.after)
		r.mark("audit/log", step.reason)
		if err := l.look(t.Context()); err != nil {
			t.Fatal(err)
		}
		if called != step.want {
			t.Errorf("called: %t, want %t: %s", called, step.want, step.reason)
		}
	}
}
