// SPDX-License-Identifier: Apache-2.0

package export

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

// clock is a clock that a test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// world is an Outbox with a real journal and one writer.
type world struct {
	t     testing.TB
	path  string
	clock *clock
	said  *warnings
	// step is called before and after each call of Done; an error is a crash there.
	step func(name string) error
	// committed counts the entries for the archive, which all stay.
	committed int

	j       *journal.Journal
	removed atomic.Int32 // calls of Done
	kill    context.CancelFunc
	box     *Outbox
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return &world{
		t: t, path: filepath.Join(t.TempDir(), "journal.db"), clock: &clock{now: spantest.Epoch.Add(time.Hour)},
		said: newWarnings(), step: func(string) error { return nil },
	}
}

// watched is the journal of a world, with its steps.
type watched struct {
	*journal.Journal
	w *world
}

func (l watched) Done(ctx context.Context, by journal.Consumer, seqs ...uint64) error {
	l.w.removed.Add(1)
	if err := l.w.step("before Done"); err != nil {
		return err
	}
	if err := l.Journal.Done(ctx, by, seqs...); err != nil {
		return err
	}
	return l.w.step("done")
}

// open starts an Outbox on the journal. The end of the test closes it.
func (w *world) open(o OutboxOptions) *Outbox {
	w.t.Helper()
	var err error
	if w.j, err = journal.Open(w.t.Context(), w.path); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(w.crash)
	if o.Log == nil {
		o.Log = watched{w.j, w}
	}
	o.Warn, o.Now, o.Cluster = w.said.warn, w.clock.Now, "c"
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	w.kill = cancel
	if w.box, err = OpenOutbox(ctx, o); err != nil {
		w.t.Fatal(err)
	}
	return w.box
}

// crash ends everything without Close.
func (w *world) crash() {
	if w.j == nil {
		return
	}
	if w.box != nil {
		w.kill()
		<-w.box.done
		if w.box.sender != nil {
			w.box.sender.client.Stop(context.Background())
		}
	}
	if err := w.j.Close(); err != nil {
		w.t.Error(err)
	}
	w.j, w.box = nil, nil
}

// close closes everything in order, with a short or ample time limit.
func (w *world) close(ctx context.Context) error {
	err := w.box.Close(ctx)
	w.crash()
	return err
}

func (w *world) finish() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.t.Context()), patience)
	defer cancel()
	if err := w.close(ctx); err != nil {
		w.t.Fatal(err)
	}
}

// commit commits a look with these entries.
func (w *world) commit(entries ...*journal.Entry) []journal.Item {
	w.t.Helper()
	if err := w.j.Commit(w.t.Context(), &journal.Changes{AsOf: w.clock.Now(), Entries: entries}); err != nil {
		w.t.Fatal(err)
	}
	w.committed += len(entries)
	items := make([]journal.Item, len(entries))
	for i, e := range entries {
		items[i] = e.Item
	}
	return items
}

// put commits finished traces and adds them, as the server does.
func (w *world) put(traces ...*span.Trace) {
	w.t.Helper()
	w.box.Add(w.commit(entries(traces...)...)...)
}

// both are the consumers of the entries in these tests.
const both = journal.Archive | journal.Sender

func entries(traces ...*span.Trace) []*journal.Entry {
	out := make([]*journal.Entry, len(traces))
	for i, t := range traces {
		out[i] = &journal.Entry{Trace: t, Item: journal.Item{For: both}}
	}
	return out
}

// amendment returns the entry of additional spans.
func amendment(t *span.Trace) *journal.Entry {
	return &journal.Entry{Trace: t, Item: journal.Item{For: both, Amends: true}}
}

// left returns the number of entries in the journal that wait for the sender.
func (w *world) left() int {
	w.t.Helper()
	j, err := journal.Open(w.t.Context(), w.path)
	if err != nil {
		w.t.Fatal(err)
	}
	defer j.Close()
	archive, err := j.Pending(w.t.Context(), journal.Archive)
	if err != nil || len(archive) != w.committed {
		w.t.Fatalf("%d entries wait for the archive, want %d, %v", len(archive), w.committed, err)
	}
	left, err := j.Pending(w.t.Context(), journal.Sender)
	if err != nil {
		w.t.Fatal(err)
	}
	return len(left)
}

// until polls, independent of the fake clock.
func (w *world) until(what string, holds func(OutboxStats) bool) OutboxStats {
	w.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		stats := w.box.Stats()
		if holds(stats) {
			return stats
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("not within %s: %s; it stands at %+v", patience, what, stats)
		}
		time.Sleep(time.Millisecond) // between two looks
	}
}

// unremoved returns the number of delivered or dropped entries that are not done yet.
func (w *world) unremoved() int {
	w.box.removals.mu.Lock()
	defer w.box.removals.mu.Unlock()
	return len(w.box.removals.seqs)
}

// small returns a finished trace with the given number of spans.
func small(name string, spans int) *span.Trace {
	b := spantest.New(name)
	root := b.Add(nil, "reconcile Deployment", "deployment-controller", spantest.Ref("apps", "Deployment", name), 0,
		100)
	root.Outcome = span.Converged
	for i := 1; i < spans; i++ {
		b.Add(root, "reconcile Pod", "kubelet", spantest.Ref("", "Pod", fmt.Sprintf("%s-%d", name, i)), i, 100)
	}
	return b.Trace
}

// amend returns a further span of t.
func amend(t *span.Trace, key string) *span.Trace {
	root := t.Spans[0]
	return &span.Trace{ID: t.ID, Spans: []*span.Span{{
		TraceID: t.ID, ID: span.DeriveID(t.ID, "amend", key), Parent: root.ID, Name: span.NameLate,
		Service: root.Service,
		Object:  root.Object,
		Start:   root.End, End: root.End,
	}}}
}

// want compares the received spans with those of traces.
func (r *receiver) want(t testing.TB, traces ...*span.Trace) {
	t.Helper()
	want, got := map[string]bool{}, map[string]bool{}
	for _, tr := range traces {
		for _, s := range tr.Spans {
			want[tr.ID.String()+s.ID.String()] = true
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.got {
		got[id] = true
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("spans (-want +got):\n%s", d)
	}
}

var errCrash = errors.New("crash")

// failing is a journal with failing reads of entries for a while.
type failing struct {
	*world
	mu    sync.Mutex
	times int
	err   error
}

func (f *failing) Read(ctx context.Context, seq uint64) (*span.Trace, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.times--; f.times >= 0 {
		return nil, f.err
	}
	return f.j.Read(ctx, seq)
}

func (f *failing) Pending(ctx context.Context, of journal.Consumer) ([]journal.Item, error) {
	return f.j.Pending(ctx, of)
}

func (f *failing) Done(ctx context.Context, by journal.Consumer, seqs ...uint64) error {
	return watched{f.j, f.world}.Done(ctx, by, seqs...)
}
