// SPDX-License-Identifier: Apache-2.0

package export

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
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
			items := w.commit(amendment(late))
			box.Add(items...)
			box.Add(items...) // changes nothing
			stats := w.until("all sent", func(s OutboxStats) bool { return s.Entries == 0 })
			if stats.Exported != 4001 || stats.Spans != 0 || stats.Bytes == 0 || stats.LastSuccess.IsZero() ||
				stats.LastError != nil || len(stats.Dropped) != 0 {
				t.Errorf("it stands at %+v", stats)
			}
			if !box.Delivered().Equal(w.clock.Now()) {
				t.Errorf("delivered until %s", box.Delivered())
			}
			w.finish()
			r.want(t, append(all, late)...)
			if _, most := r.sent(); most > 1 {
				t.Errorf("a span was sent %d times", most)
			}
			if left := w.left(); left != 0 || w.removed.Load() > 10 {
				t.Errorf("%d entries are left after %d removals", left, w.removed.Load())
			}
			if got := w.said.text(); got != "" {
				t.Errorf("warnings: %s", got)
			}
		})
	}
}

func TestOutboxSendsOnlyWhatIsForIt(t *testing.T) {
	w, r, l := newWorld(t), newReceiver(), listen(t, "127.0.0.1:0")
	serveHTTP(t, r, l)
	o := to("http://" + l.Addr().String())
	box := w.open(o)
	unwanted, first, second, third := small("unwanted", 3), small("first", 3), small("second", 3), small("third", 3)
	w.box.Add(w.commit(&journal.Entry{Trace: unwanted, Item: journal.Item{For: journal.Archive}})...)
	w.put(first)
	w.until("the first is sent", func(s OutboxStats) bool { return s.Exported == 3 && s.Entries == 0 })
	w.commit(entries(second)...) // the process ends before it is added
	if got := box.Delivered(); !got.Equal(w.clock.Now()) {
		t.Errorf("delivered until %s", got)
	}
	w.crash()
	r.want(t, first)
	w.open(o)
	w.put(third)
	w.finish()
	r.want(t, first, second, third)
	if left := w.left(); left != 0 {
		t.Errorf("%d entries are left", left)
	}
}

func TestOutboxRemovesTogether(t *testing.T) {
	w, r, l := newWorld(t), newReceiver(), listen(t, "127.0.0.1:0")
	serveHTTP(t, r, l)
	o := to("http://" + l.Addr().String())
	o.linger = time.Hour
	w.open(o)
	for n := range 20 {
		w.put(small(fmt.Sprint(n), 1))
		w.until("delivered", func(s OutboxStats) bool { return s.Entries == 0 && w.unremoved() == n+1 })
	}
	if n := w.removed.Load(); n != 0 {
		t.Errorf("%d removals", n)
	}
	w.finish()
	if left := w.left(); left != 0 || w.removed.Load() != 1 {
		t.Errorf("%d entries are left after %d removals", left, w.removed.Load())
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
		t.Errorf("%d entries are in the log", left)
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
	w.step = func(string) error { return errCrash }
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

// TestOutboxRepeatsTheSameRequest: neither a new entry nor a hold changes a request that failed.
func TestOutboxRepeatsTheSameRequest(t *testing.T) {
	w, r, l := newWorld(t), newReceiver(), listen(t, "127.0.0.1:0")
	var failing atomic.Bool
	failing.Store(true)
	r.answer = func(int) (ptraceotlp.ExportResponse, error) {
		if failing.Load() {
			return ptraceotlp.NewExportResponse(), status.Error(codes.Unavailable, "come again")
		}
		return ptraceotlp.NewExportResponse(), nil
	}
	serveHTTP(t, r, l)
	box := w.open(to("http://" + l.Addr().String()))
	var all []*span.Trace
	more := func(spans int) {
		all = append(all, small(fmt.Sprint(len(all)), spans))
		w.put(all[len(all)-1])
	}
	more(3)
	w.until("failed", func(s OutboxStats) bool { return s.LastError != nil })
	more(5)
	more(700)
	calls := func() int { r.mu.Lock(); defer r.mu.Unlock(); return r.calls }
	before := calls()
	w.until("failed again", func(OutboxStats) bool { return calls() > before })
	box.Hold(true)
	more(2)
	box.Hold(false)
	before = calls()
	w.until("failed again", func(OutboxStats) bool { return calls() > before+1 })
	failing.Store(false)
	w.finish()
	r.want(t, all...)
	tried := before + 2
	if len(r.asked[0]) != 3 {
		t.Errorf("the first request had %d spans", len(r.asked[0]))
	}
	for i, spans := range r.asked[:tried] {
		if d := cmp.Diff(r.asked[0], spans); d != "" {
			t.Errorf("request %d of %d (-want +got):\n%s", i, tried, d)
		}
	}
}

// TestOutboxUnreadable: damaged and missing entries are counted and are not tried again.
func TestOutboxUnreadable(t *testing.T) {
	w, r, l := newWorld(t), newReceiver(), listen(t, "127.0.0.1:0")
	serveHTTP(t, r, l)
	o := to("http://" + l.Addr().String())
	o.Hold = true
	w.open(o)
	damaged, first, missing, last := small("damaged", 4), small("first", 3), small("missing", 2), small("last", 700)
	w.put(damaged, first, missing)
	w.put(last)
	w.crash()
	db, err := sql.Open("sqlite", w.path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "UPDATE log SET data = x'63' WHERE seq = 1"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	box := w.open(o)
	if err := w.j.Done(t.Context(), journal.Sender|journal.Archive, 3); err != nil {
		t.Fatal(err)
	}
	w.committed--
	box.Hold(false)
	stats := w.until("done", func(s OutboxStats) bool { return s.Entries == 0 })
	if d := cmp.Diff(map[DropReason]int64{DroppedUnreadable: 4 + 2}, stats.Dropped); d != "" {
		t.Errorf("dropped (-want +got):\n%s", d)
	}
	w.finish()
	r.want(t, first, last)
	if left := w.left(); left != 0 || strings.Count(w.said.text(), "cannot be read from the journal") != 1 {
		t.Errorf("%d entries are left, warnings: %s", left, w.said.text())
	}
}

// TestOutboxJournalLost: the journal is deleted while entries wait, and is replaced by an empty one.
func TestOutboxJournalLost(t *testing.T) {
	for name, lose := range map[string]func(path string) error{
		"deleted":     os.Remove,
		"overwritten": func(path string) error { return os.WriteFile(path, make([]byte, 100), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			w, r, l := newWorld(t), newReceiver(), listen(t, "127.0.0.1:0")
			serveHTTP(t, r, l)
			o := to("http://" + l.Addr().String())
			o.linger = time.Millisecond
			box := w.open(o)
			sent, waiting, next := small("sent", 4), small("waiting", 5), small("next", 3)
			w.put(sent)
			w.until("sent", func(s OutboxStats) bool { return s.Exported == 4 && w.unremoved() == 0 })
			box.Hold(true)
			w.put(waiting)
			if err := lose(w.path); err != nil {
				t.Fatal(err)
			}
			// An entry that is delivered now cannot be marked until the journal is replaced.
			changes := &journal.Changes{AsOf: w.clock.Now(), Entries: entries(next)}
			if err := w.j.Commit(t.Context(), changes); !errors.Is(err, journal.ErrRenewed) {
				t.Fatalf("got %v", err)
			}
			w.committed = 0
			box.Hold(false)
			stats := w.until("counted as lost", func(s OutboxStats) bool { return s.Entries == 0 })
			if d := cmp.Diff(map[DropReason]int64{DroppedUnreadable: 5}, stats.Dropped); d != "" {
				t.Errorf("dropped (-want +got):\n%s", d)
			}
			box.Add(w.commit(changes.Entries...)...)
			w.until("sent", func(s OutboxStats) bool { return s.Exported == 7 && w.unremoved() == 0 })
			w.finish()
			r.want(t, sent, next)
			if left := w.left(); left != 0 {
				t.Errorf("%d entries are left", left)
			}
		})
	}
}

// TestOutboxDoneOnLostJournal: entries are delivered while the journal is lost. They are marked, or
// are gone, after it was replaced.
func TestOutboxDoneOnLostJournal(t *testing.T) {
	w, r, l := newWorld(t), newReceiver(), listen(t, "127.0.0.1:0")
	serveHTTP(t, r, l)
	o := to("http://" + l.Addr().String())
	o.linger = time.Millisecond
	o.Hold = true
	box := w.open(o)
	tr := small("a", 3)
	w.put(tr)
	if err := os.Remove(w.path); err != nil {
		t.Fatal(err)
	}
	box.Hold(false) // the open file still has the entry
	w.until("sent, and not marked", func(s OutboxStats) bool {
		return s.Exported == 3 && strings.Contains(w.said.text(), "was deleted")
	})
	if n := w.unremoved(); n != 1 {
		t.Errorf("%d entries are to be marked", n)
	}
	if err := w.j.Commit(t.Context(), &journal.Changes{AsOf: w.clock.Now()}); !errors.Is(err, journal.ErrRenewed) {
		t.Fatalf("got %v", err)
	}
	w.committed = 0
	w.until("over", func(OutboxStats) bool { return w.unremoved() == 0 })
	w.finish()
	r.want(t, tr)
	if left := w.left(); left != 0 || len(box.Stats().Dropped) != 0 {
		t.Errorf("%d entries are left; it stands at %+v", left, box.Stats())
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

// TestOutboxReconcile: a lost journal is filled again with entries that were sent. They are marked
// again, so that the next start does not send them.
func TestOutboxReconcile(t *testing.T) {
	w, r, l := newWorld(t), newReceiver(), listen(t, "127.0.0.1:0")
	serveHTTP(t, r, l)
	o := to("http://" + l.Addr().String())
	o.linger = time.Millisecond
	box := w.open(o)
	all := entries(small("sent", 4), small("waiting", 5))
	box.Add(w.commit(all[0])...)
	w.until("sent", func(s OutboxStats) bool { return s.Exported == 4 && w.unremoved() == 0 })
	box.Hold(true)
	box.Add(w.commit(all[1])...)
	if err := os.Remove(w.path); err != nil {
		t.Fatal(err)
	}
	if err := w.j.Commit(t.Context(), &journal.Changes{}); !errors.Is(err, journal.ErrRenewed) {
		t.Fatal(err)
	}
	next := entries(small("next", 2)) // it is not added yet
	if err := w.j.Commit(t.Context(), &journal.Changes{Entries: append(all, next...)}); err != nil {
		t.Fatal(err)
	}
	if err := box.Reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := w.j.Pending(t.Context(), journal.Sender)
	if err != nil || len(got) != 2 || got[0].Seq != all[1].Seq || got[1].Seq != next[0].Seq {
		t.Errorf("pending are %v, %v", got, err)
	}
}

// TestOutboxWithdraw: after Withdraw no span of its entries leaves, also if it was read already or is
// in a request that hangs or that the backend did not accept. It does not count as lost.
func TestOutboxWithdraw(t *testing.T) {
	for name, tc := range map[string]struct{ hold, hang bool }{
		"queued": {hold: true}, "read": {}, "in a request that hangs": {hang: true},
	} {
		t.Run(name, func(t *testing.T) {
			w, r, l := newWorld(t), newReceiver(), listen(t, "127.0.0.1:0")
			hung, free := make(chan struct{}), make(chan struct{})
			var once sync.Once
			var works atomic.Bool
			r.answer = func(int) (ptraceotlp.ExportResponse, error) {
				if works.Load() {
					return ptraceotlp.NewExportResponse(), nil
				}
				once.Do(func() { close(hung) })
				if tc.hang {
					<-free
				}
				return ptraceotlp.NewExportResponse(), status.Error(codes.Unavailable, "not yet")
			}
			serveHTTP(t, r, l)
			t.Cleanup(sync.OnceFunc(func() { close(free) }))
			o := to("http://" + l.Addr().String())
			o.Hold = tc.hold
			box := w.open(o)
			first, gone, last := small("first", 2), small("gone", 3), small("last", 2)
			items := w.commit(entries(first, gone, last)...)
			box.Add(items...)
			if !tc.hold {
				<-hung
			}
			if err := box.Withdraw(t.Context(), []uint64{items[1].Seq, 4711}); err != nil {
				t.Fatal(err)
			}
			works.Store(true)
			if s := box.Stats(); s.Entries != 2 || s.Spans != 4 || len(s.Dropped) > 0 {
				t.Errorf("it stands at %+v", s)
			}
			box.Hold(false)
			w.finish()
			r.want(t, first, last)
		})
	}
}

// TestOutboxWithdrawEnds: a cancelled Withdraw does not wait for the end of a request, and removes
// nothing. The sending continues.
func TestOutboxWithdrawEnds(t *testing.T) {
	b := &Outbox{wake: make(chan struct{}, 1)}
	b.released = sync.NewCond(&b.mu)
	b.backlog.add(item{seq: 1, spans: 1})
	b.backlog.busy = true
	ctx, cancel := context.WithCancel(t.Context())
	b.callBack = cancel // while it waits
	if err := b.Withdraw(ctx, []uint64{1}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if b.withdrawing != 0 || len(b.backlog.queue) != 1 {
		t.Errorf("%d calls, %d entries", b.withdrawing, len(b.backlog.queue))
	}
}

// Entries added just before Close are sent, even if the sending goroutine learns of both at the
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
				b.backlog.add(item{spans: 1})
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

func TestOutboxJournalFailsForAWhile(t *testing.T) {
	w, r, l := newWorld(t), newReceiver(), listen(t, "127.0.0.1:0")
	serveHTTP(t, r, l)
	o := to("http://" + l.Addr().String())
	o.Log = &failing{world: w, times: 2, err: errors.New("input/output error")}
	var mu sync.Mutex
	refuse := 2
	o.linger = time.Millisecond
	w.step = func(step string) error {
		mu.Lock()
		defer mu.Unlock()
		if step == "before Done" {
			if refuse--; refuse >= 0 {
				return store.ErrFull
			}
		}
		return nil
	}
	w.open(o)
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
	if box.Wants() || box.Endpoint() != "" {
		t.Errorf("it has the destination %q", box.Endpoint())
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
	w := newWorld(t)
	w.open(OutboxOptions{})
	o.Log = w.j
	if _, err := OpenOutbox(t.Context(), o); err == nil || !strings.Contains(err.Error(), "otlp.endpoint=ftp://x:1") {
		t.Errorf("got %v", err)
	}
}
