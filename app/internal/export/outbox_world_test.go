// SPDX-License-Identifier: Apache-2.0

package export

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
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

// world is an Outbox with a real store and one writer.
type world struct {
	t     testing.TB
	path  string
	clock *clock
	said  *warnings
	// step is called before and after each write; an error is a crash there.
	step func(name string) error

	mu       sync.Mutex
	db       *sqlite.Store
	revision int64
	commits  int
	kill     context.CancelFunc
	box      *Outbox
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return &world{
		t: t, path: filepath.Join(t.TempDir(), "lifeline.db"), clock: &clock{now: spantest.Epoch.Add(time.Hour)},
		said: newWarnings(), step: func(string) error { return nil },
	}
}

// open starts an Outbox on the store. The end of the test closes it.
func (w *world) open(o OutboxOptions) *Outbox {
	w.t.Helper()
	db, err := sqlite.Open(w.t.Context(), w.path)
	if err != nil {
		w.t.Fatal(err)
	}
	stats, err := db.Stats(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	w.db, w.revision = db, stats.Revision
	if o.Store == nil {
		o.Store = db
	}
	if o.Commit == nil {
		o.Commit = w.commit
	}
	o.Warn, o.Now, o.Cluster = w.said.warn, w.clock.Now, "c"
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	w.kill = cancel
	if w.box, err = OpenOutbox(ctx, o); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(w.crash)
	return w.box
}

// crash ends everything without Close.
func (w *world) crash() {
	if w.db == nil {
		return
	}
	w.kill()
	<-w.box.done
	if w.box.sender != nil {
		w.box.sender.client.Stop(context.Background())
	}
	if err := w.db.Close(); err != nil {
		w.t.Error(err)
	}
	w.db = nil
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

func (w *world) write(b *store.Batch) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.step("before"); err != nil {
		return err
	}
	w.revision++
	b.Revision, b.AsOf = w.revision, w.clock.Now()
	if err := w.db.Write(context.Background(), b); err != nil {
		return err
	}
	return w.step("after")
}

func (w *world) commit(_ context.Context, state map[string][]byte) error {
	w.commits++
	return w.write(&store.Batch{State: state})
}

// put stores finished traces and queues them, as the server does.
func (w *world) put(traces ...*span.Trace) {
	w.t.Helper()
	state := w.box.Queue(entries(traces...)...)
	if err := w.write(&store.Batch{Finished: traces, State: state}); err != nil {
		w.t.Fatal(err)
	}
	w.box.Stored(state)
}

func entries(traces ...*span.Trace) []Entry {
	var out []Entry
	for _, t := range traces {
		out = append(out, Entry{TraceID: t.ID, Spans: len(t.Spans)})
	}
	return out
}

// left returns the number of entries in the store.
func (w *world) left() int {
	w.t.Helper()
	db, err := sqlite.Open(w.t.Context(), w.path)
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	states, err := db.States(w.t.Context(), OutboxPrefix)
	if err != nil {
		w.t.Fatal(err)
	}
	return len(states)
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

// unremoved returns the number of delivered or dropped entries still in the store.
func (w *world) unremoved() int {
	w.box.mu.Lock()
	defer w.box.mu.Unlock()
	return len(w.box.removed.names)
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
		TraceID: t.ID, ID: span.DeriveID(t.ID, "amend", key), Parent: root.ID, Name: "amend", Service: root.Service,
		Object: root.Object,
		Start:  root.End, End: root.End,
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

// failing is a store with failing reads of traces for a while.
type failing struct {
	store.Reader
	mu    sync.Mutex
	times int
	err   error
}

func (f *failing) Trace(ctx context.Context, id trace.TraceID) (*store.Record, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.times--; f.times >= 0 {
		return nil, f.err
	}
	return f.Reader.Trace(ctx, id)
}

func (f *failing) States(context.Context, string) (map[string][]byte, error) { return nil, nil }
