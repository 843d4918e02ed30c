// SPDX-License-Identifier: Apache-2.0

package export

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// to returns an Outbox's options for a backend at that address.
func to(endpoint string) OutboxOptions { return OutboxOptions{Options: Options{Endpoint: endpoint}} }

// nowhere returns an address without a listener.
func nowhere(t testing.TB) string {
	t.Helper()
	l := listen(t, "127.0.0.1:0")
	defer l.Close()
	return l.Addr().String()
}

func TestOutboxDelivers(t *testing.T) {
	for name, scheme := range map[string]string{"gRPC": "grpc://", "HTTP": "http://"} {
		t.Run(name, func(t *testing.T) {
			w, r, l := newWorld(t), newReceiver(), listen(t, "127.0.0.1:0")
			if name == "gRPC" {
				serveGRPC(t, r, l)
			} else {
				serveHTTP(t, r, l)
			}
			o := to(scheme + l.Addr().String())
			o.linger = time.Minute // enough for a slow machine
			box := w.open(o)
			var all []*span.Trace
			for n := range 2000 {
				all = append(all, small(fmt.Sprint(n), 2))
				if len(all)%100 == 0 {
					w.put(all[len(all)-100:]...)
				}
			}
			late := amend(all[7], "late")
			state := box.Queue(Entry{TraceID: late.ID, Only: []trace.SpanID{late.Spans[0].ID}})
			if err := w.write(&store.Batch{Amendments: one(late), State: state}); err != nil {
				t.Fatal(err)
			}
			box.Stored(state)
			box.Stored(state) // changes nothing
			stats := w.until("all sent", func(s OutboxStats) bool { return s.Entries == 0 })
			if stats.Exported < 4001 || stats.Spans != 0 || stats.Bytes == 0 || stats.LastSuccess.IsZero() ||
				stats.LastError != nil || len(stats.Dropped) != 0 {
				t.Errorf("it stands at %+v", stats)
			}
			if !box.Delivered().Equal(w.clock.Now()) {
				t.Errorf("delivered until %s", box.Delivered())
			}
			w.finish()
			r.want(t, append(all, late)...)
			if _, most := r.sent(); most > 2 { // the amendment may have been sent with its trace
				t.Errorf("a span was sent %d times", most)
			}
			if left := w.left(); left != 0 || w.commits > 10 {
				t.Errorf("%d entries are left after %d commits", left, w.commits)
			}
			if got := w.said.text(); got != "" {
				t.Errorf("warnings: %s", got)
			}
		})
	}
}

func TestOutboxSendsOnlyWhatWasStored(t *testing.T) {
	w, r, l := newWorld(t), newReceiver(), listen(t, "127.0.0.1:0")
	serveHTTP(t, r, l)
	box := w.open(to("http://" + l.Addr().String()))
	first, second, third := small("first", 3), small("second", 3), small("third", 3)
	w.clock.advance(time.Minute)
	queued := w.clock.Now()
	box.Queue(entries(first)...) // its batch is never written
	w.clock.advance(time.Minute)
	if got := box.Delivered(); !got.Equal(queued) {
		t.Errorf("delivered until %s while a batch is being written that was queued at %s", got, queued)
	}
	w.put(second)
	w.until("the second is sent", func(s OutboxStats) bool { return s.Exported == 3 })
	w.put(third)
	w.finish()
	r.want(t, second, third)
}

func TestOutboxRemovalsRide(t *testing.T) {
	w, r, l := newWorld(t), newReceiver(), listen(t, "127.0.0.1:0")
	serveHTTP(t, r, l)
	o := to("http://" + l.Addr().String())
	o.linger = time.Hour
	w.open(o)
	for n := range 20 {
		w.put(small(fmt.Sprint(n), 1))
		w.until("delivered", func(s OutboxStats) bool { return s.Entries == 0 && w.unremoved() == 1 })
	}
	if w.commits != 0 {
		t.Errorf("%d commits, though a batch came each time", w.commits)
	}
	w.finish()
	if left := w.left(); left != 0 || w.commits != 1 {
		t.Errorf("%d entries are left after %d commits", left, w.commits)
	}
}

func TestOutboxBounds(t *testing.T) {
	w := newWorld(t)
	address := nowhere(t)
	o := to("http://" + address)
	o.MaxSpans, o.MaxAge = 100, time.Hour
	box := w.open(o)
	var all []*span.Trace
	for n := range 30 {
		w.clock.advance(time.Minute)
		all = append(all, small(fmt.Sprint(n), 10))
		w.put(all[n])
		if n == 0 { // spans being sent are not dropped, so allow no more attempts
			w.until("tried", func(s OutboxStats) bool { return s.LastError != nil })
			box.Hold(true)
			w.until("idle", func(OutboxStats) bool { box.mu.Lock(); defer box.mu.Unlock(); return !box.backlog.busy })
		}
	}
	stats := w.until("bounded", func(s OutboxStats) bool { return s.Spans == 100 })
	if d := cmp.Diff(map[DropReason]int64{DroppedFull: 200}, stats.Dropped); d != "" {
		t.Errorf("dropped (-want +got):\n%s", d)
	}
	if stats.Entries != 10 {
		t.Errorf("it stands at %+v", stats)
	}
	w.clock.advance(55*time.Minute - time.Second) // the oldest four are over an hour old
	box.SetLimits(50, time.Hour)                  // and five more are too many
	stats = w.until("bounded", func(s OutboxStats) bool { return s.Spans <= 50 })
	want := map[DropReason]int64{DroppedFull: 200 + 10, DroppedAge: 40}
	if d := cmp.Diff(want, stats.Dropped); d != "" {
		t.Errorf("dropped (-want +got):\n%s", d)
	}
	if err := hurriedClose(w); err != nil {
		t.Fatal(err)
	}
	if left := w.left(); left != 5 {
		t.Errorf("%d entries are in the store", left)
	}
	// One warning an hour for each reason; the first drops are over an hour old.
	for text, want := range map[string]int{"otlp.outbox.maxSpans": 2, "otlp.outbox.maxAge": 1, "cannot send spans": 1} {
		if got := strings.Count(w.said.text(), text); got != want {
			t.Errorf("%d warnings of %q, want %d: %s", got, text, want, w.said.text())
		}
	}

	// The next start sends the remaining, newest entry.
	r, l := newReceiver(), listen(t, address)
	serveHTTP(t, r, l)
	w.open(o)
	w.finish()
	r.want(t, all[25:]...)

	// Entries that have become too old by then are dropped unsent.
	w.open(to("http://" + nowhere(t)))
	w.put(small("old", 7))
	w.crash()
	w.clock.advance(25 * time.Hour)
	w.open(to("http://" + l.Addr().String()))
	stats = w.until("dropped", func(s OutboxStats) bool { return s.Entries == 0 })
	w.finish()
	if stats.Dropped[DroppedAge] != 7 || w.left() != 0 {
		t.Errorf("it stood at %+v", stats)
	}
	r.want(t, all[25:]...)
}

// hurriedClose closes without time.
func hurriedClose(w *world) error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return w.close(ctx)
}

func TestOutboxRepeatsAreTheSame(t *testing.T) {
	w, r, l := newWorld(t), newReceiver(), listen(t, "127.0.0.1:0")
	serveHTTP(t, r, l)
	o := to("http://" + l.Addr().String())
	o.Commit = func(context.Context, map[string][]byte) error { return errCrash }
	crashed := spantest.CrashLoop() // some of its spans are open
	w.open(o)
	w.put(crashed)
	queued := w.clock.Now()
	for again := range 2 {
		w.until("sent", func(s OutboxStats) bool { return s.Exported == int64(len(crashed.Spans)) })
		w.crash()
		w.clock.advance(time.Hour)
		r.mu.Lock()
		for _, s := range crashed.Spans {
			id := s.TraceID.String() + s.ID.String()
			end := s.End.Time
			if s.Open() {
				end = queued
			}
			if got := time.Unix(0, int64(r.ends[id])); !got.Equal(end) || r.got[id] != again+1 {
				t.Errorf("%s came %d times and ended %s, want %s", s.Name, r.got[id], got, end)
			}
		}
		r.mu.Unlock()
		w.open(o)
	}
	r.want(t, crashed)
}

func TestOutboxBigTrace(t *testing.T) {
	w, r, l := newWorld(t), newReceiver(), listen(t, "127.0.0.1:0")
	busy := false
	r.answer = func(int) (ptraceotlp.ExportResponse, error) {
		if busy = !busy; busy { // every other request fails
			return ptraceotlp.NewExportResponse(), status.Error(codes.Unavailable, "come again")
		}
		return ptraceotlp.NewExportResponse(), nil
	}
	serveHTTP(t, r, l)
	w.open(to("http://" + l.Addr().String()))
	big := spantest.Many(300)
	next := small("next", 3)
	w.put(big, next)
	w.finish()
	r.want(t, big, next)
	if _, most := r.sent(); most != 1 || r.calls < 8 {
		t.Errorf("a span came %d times, in %d requests", most, r.calls)
	}
}

func TestOutboxRefused(t *testing.T) {
	cases := map[string]struct {
		reason  string
		answer  func(int) (ptraceotlp.ExportResponse, error)
		refused int64
		warn    string
	}{
		"partly": {"those refused are counted, and nothing is sent twice",
			func(int) (ptraceotlp.ExportResponse, error) {
				resp := ptraceotlp.NewExportResponse()
				resp.PartialSuccess().SetRejectedSpans(2)
				resp.PartialSuccess().SetErrorMessage("too old")
				return resp, nil
			}, 2, "refused 2 of 10 spans"},
		"wholly": {"a refusal is final", func(int) (ptraceotlp.ExportResponse, error) {
			return ptraceotlp.NewExportResponse(), status.Error(codes.InvalidArgument, "no such tenant")
		}, 10, "no such tenant"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w, r, l := newWorld(t), newReceiver(), listen(t, "127.0.0.1:0")
			r.answer = tc.answer
			serveHTTP(t, r, l)
			w.open(to("http://" + l.Addr().String()))
			w.put(small("a", 10))
			stats := w.until("answered", func(s OutboxStats) bool { return s.Entries == 0 })
			w.finish()
			if stats.Refused != tc.refused || stats.Exported != 10-tc.refused || stats.LastError == nil ||
				len(stats.Dropped) != 0 {
				t.Errorf("%s: it stands at %+v", tc.reason, stats)
			}
			if !strings.Contains(w.said.text(), tc.warn) || r.calls != 1 || w.left() != 0 {
				t.Errorf("%s: %d requests, warnings: %s", tc.reason, r.calls, w.said.text())
			}
		})
	}
}

func TestOutboxPruned(t *testing.T) {
	w, r, l := newWorld(t), newReceiver(), listen(t, "127.0.0.1:0")
	serveHTTP(t, r, l)
	o := to("http://" + l.Addr().String())
	o.Hold = true
	box := w.open(o)
	gone, kept := small("gone", 4), small("kept", 3)
	w.put(gone)
	if _, err := w.db.Prune(t.Context(), store.Limits{Before: w.clock.Now()}); err != nil {
		t.Fatal(err)
	}
	w.put(kept)
	missing := trace.SpanID{1}
	state := box.Queue(Entry{TraceID: kept.ID, Only: []trace.SpanID{kept.Spans[0].ID, missing}}, Entry{
		TraceID: kept.ID, Only: []trace.SpanID{missing},
	})
	state[OutboxPrefix+"nonsense"] = []byte("x")
	state[(&item{seq: 99}).name()] = []byte("of another version")
	if err := w.write(&store.Batch{State: state}); err != nil {
		t.Fatal(err)
	}
	box.Stored(state)
	w.crash()
	o.Hold = false
	box = w.open(o)
	stats := w.until("done", func(s OutboxStats) bool { return s.Entries == 0 })
	want := map[DropReason]int64{DroppedPruned: 4 + 1 + 1, DroppedUnreadable: 2}
	if d := cmp.Diff(want, stats.Dropped); d != "" {
		t.Errorf("dropped (-want +got):\n%s", d)
	}
	for name, value := range box.Queue(entries(kept)...) {
		if i, err := decodeItem(name, value); value != nil && (err != nil || i.seq != 100) {
			t.Errorf("the next entry is %s, %v: one before it is still to be removed", name, err)
		}
	}
	w.finish()
	r.want(t, kept)
	if left := w.left(); left != 0 {
		t.Errorf("%d entries are left", left)
	}
}

func TestOutboxStandby(t *testing.T) {
	w, r, l := newWorld(t), newReceiver(), listen(t, "127.0.0.1:0")
	serveHTTP(t, r, l)
	o := to("http://" + l.Addr().String())
	o.Hold = true
	box := w.open(o)
	var all []*span.Trace
	var at []time.Time
	for n := range 10 {
		all = append(all, small(fmt.Sprint(n), 2))
		w.clock.advance(time.Minute)
		at = append(at, w.clock.Now())
		w.put(all[n])
	}
	if got := box.Delivered(); !got.Equal(at[0]) {
		t.Errorf("delivered until %s, want %s", got, at[0])
	}
	if err := box.Forget(t.Context(), at[6]); err != nil {
		t.Fatal(err)
	}
	stats := box.Stats()
	if stats.Entries != 4 || stats.Spans != 8 || len(stats.Dropped) != 0 || !stats.Holding ||
		!stats.Oldest.Equal(at[6]) || w.unremoved() != 0 {
		t.Errorf("it stands at %+v", stats)
	}
	if got := box.Delivered(); !got.Equal(at[6]) {
		t.Errorf("delivered until %s, want %s", got, at[6])
	}
	w.finish() // a holding member sends nothing at its end
	r.want(t)
	if left := w.left(); left != 4 {
		t.Errorf("%d entries are left", left)
	}
	box = w.open(o)
	box.Hold(false)
	w.finish()
	r.want(t, all[6:]...)
}

// Entries stored just before Close are sent, even if the sending goroutine learns of both at the
// same time.
func TestOutboxClosesAfterTheLast(t *testing.T) {
	for name, c := range map[string]struct {
		waits, holds, want bool
	}{
		"something waits": {waits: true, want: true},
		"it is held":      {waits: true, holds: true},
		"nothing waits":   {},
	} {
		t.Run(name, func(t *testing.T) {
			b := &Outbox{
				sender: &sender{}, wake: make(chan struct{}, 1), closing: make(chan struct{}), holding: c.holds,
			}
			close(b.closing)
			if c.waits {
				b.backlog.add(item{Entry: Entry{Spans: 1}})
			}
			for range 50 {
				if got := b.wait(t.Context()); got != c.want {
					t.Fatalf("there may be more to do: %t, want %t", got, c.want)
				}
			}
		})
	}
}

func TestOutboxForgetFails(t *testing.T) {
	w := newWorld(t)
	o := to("http://" + nowhere(t))
	o.Hold = true
	box := w.open(o)
	w.put(small("a", 1))
	w.step = func(string) error { return errCrash }
	if err := box.Forget(t.Context(), w.clock.Now().Add(1)); !errors.Is(err, errCrash) {
		t.Errorf("got %v", err)
	}
	if stats := box.Stats(); stats.Entries != 0 || w.unremoved() != 1 {
		t.Errorf("it stands at %+v", stats)
	}
	w.step = func(string) error { return nil }
	w.finish()
	if left := w.left(); left != 0 {
		t.Errorf("%d entries are left", left)
	}
}

func TestOutboxStoreFailsForAWhile(t *testing.T) {
	w, r, l := newWorld(t), newReceiver(), listen(t, "127.0.0.1:0")
	serveHTTP(t, r, l)
	reader := &failing{times: 2, err: errors.New("input/output error")}
	o := to("http://" + l.Addr().String())
	o.Store = reader
	var mu sync.Mutex
	refuse := 2
	o.linger = time.Millisecond
	o.Commit = func(ctx context.Context, state map[string][]byte) error {
		mu.Lock()
		defer mu.Unlock()
		if refuse--; refuse >= 0 {
			return store.ErrFull
		}
		return w.commit(ctx, state)
	}
	w.open(o)
	reader.mu.Lock()
	reader.Reader = w.db
	reader.mu.Unlock()
	tr := small("a", 3)
	w.put(tr)
	w.until("removed", func(s OutboxStats) bool { return s.Entries+w.unremoved() == 0 })
	w.finish()
	r.want(t, tr)
	if _, most := r.sent(); most != 1 || w.left() != 0 {
		t.Errorf("a span came %d times", most)
	}
	for _, text := range []string{"input/output error", "no space left"} {
		if got := strings.Count(w.said.text(), text); got != 1 {
			t.Errorf("%d warnings of %q: %s", got, text, w.said.text())
		}
	}
}

func TestOutboxNowhere(t *testing.T) {
	w := newWorld(t)
	w.open(to("http://" + nowhere(t)))
	w.put(small("a", 3))
	w.crash()
	box := w.open(OutboxOptions{})
	if state := box.Queue(entries(small("b", 3))...); state != nil || box.Endpoint() != "" {
		t.Errorf("it queues %v for %q", state, box.Endpoint())
	}
	if stats := box.Stats(); stats.Spans != 3 {
		t.Errorf("it stands at %+v", stats)
	}
	w.clock.advance(48 * time.Hour)
	box.SetLimits(0, 0)
	w.finish()
	if left := w.left(); left != 0 {
		t.Errorf("%d entries are left", left)
	}
}

func TestOutboxRefusesToStart(t *testing.T) {
	o := to("ftp://x:1")
	o.Setting = "otlp.endpoint"
	o.Store = &failing{}
	if _, err := OpenOutbox(t.Context(), o); err == nil || !strings.Contains(err.Error(), "otlp.endpoint=ftp://x:1") {
		t.Errorf("got %v", err)
	}
}

func TestEntryIsReadAsWritten(t *testing.T) {
	for _, e := range []Entry{
		{TraceID: trace.TraceID{1}, Spans: 1, Queued: time.Unix(0, -5)},
		{
			TraceID: trace.TraceID{0xff}, Spans: maxEntrySpans, Queued: time.Unix(1<<32, 7), Only: []trace.SpanID{
				{1}, {2}, {0xff},
			},
		},
	} {
		in := item{Entry: e, seq: 1<<64 - 1}
		out, err := decodeItem(in.name(), e.encode())
		if d := cmp.Diff(in, out, cmp.AllowUnexported(item{}), cmpopts.EquateEmpty()); d != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, d)
		}
	}
}

func FuzzDecodeItem(f *testing.F) {
	f.Add((&item{seq: 7}).name(), (&Entry{TraceID: trace.TraceID{1}, Spans: 3, Only: []trace.SpanID{{1}}}).encode())
	f.Fuzz(func(t *testing.T, name string, value []byte) {
		i, err := decodeItem(name, value)
		if err != nil {
			return
		}
		again, err := decodeItem(i.name(), i.encode())
		if d := cmp.Diff(i, again, cmp.AllowUnexported(item{})); d != "" || err != nil || i.name() != name {
			t.Errorf("%v (-want +got):\n%s", err, d)
		}
	})
}
