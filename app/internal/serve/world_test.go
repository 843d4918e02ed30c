// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/archive"
	"github.com/kube-lifeline/lifeline/app/internal/export"
	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/lifecycle"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
	"github.com/kube-lifeline/lifeline/app/internal/view"
)

// world is the storage of one server in a folder: its journal, its archive with a writer, and the
// view over both.
type world struct {
	*journal.Journal
	writer *archive.Writer
	view   *view.View
	// archived is true if there is an archive.
	archived bool
	end      func()
}

// newWorld opens the storage in a folder, and closes it at the end of the test.
func newWorld(t testing.TB, dir string) *world {
	t.Helper()
	return newWorldIn(t, dir, filepath.Join(dir, "archive.db"))
}

// newWorldIn is newWorld with another file of the archive.
func newWorldIn(t testing.TB, dir, archive string) *world {
	t.Helper()
	return newWorldOver(t, dir, func(ctx context.Context) (store.Archive, error) {
		return sqlite.Open(ctx, store.Config{Path: archive})
	})
}

// newWorldOver is newWorld with an archive of the test. Without one, finished traces stay in the log.
func newWorldOver(t testing.TB, dir string, open func(context.Context) (store.Archive, error)) *world {
	t.Helper()
	j, err := journal.Open(t.Context(), journalFile(dir))
	must(t, err)
	left, err := j.Pending(t.Context(), journal.Archive)
	must(t, err)
	w := &world{Journal: j, archived: open != nil}
	w.view = view.New(j.Read, func() (store.Stored, error) { return w.writer.Reader() })
	w.view.Restore(left)
	w.writer = archive.New(archive.Options{
		Open: open, Log: j, Read: w.view.Entry, Archived: w.view.Archived,
		Now: func() time.Time { return time.Time{} }, // recordings are old
	}, left)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	if open == nil {
		ended <- nil
	} else {
		go func() { ended <- w.writer.Run(ctx) }()
	}
	w.end = sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-ended, j.Close()); err != nil && !errors.Is(err, store.ErrDamaged) {
			t.Error(err)
		}
	})
	t.Cleanup(w.end)
	return w
}

// options returns options for the recordings; those of o win.
func (w *world) options(o recorderOptions) recorderOptions {
	o.Engine.Cluster = cmp.Or(o.Engine.Cluster, "recorded")
	if o.Sampling == nil {
		o.Sampling = keepAll
	}
	if o.Warn == nil {
		o.Warn = quietly
	}
	o.Held = w.view.Held
	before := o.Stored
	o.Stored = func(l *look) {
		w.publish(l)
		if before != nil {
			before(l)
		}
	}
	return o
}

// publish is the part of server.stored for readers and the archive.
func (w *world) publish(l *look) {
	w.view.Publish(l.AsOf, l.Revision, l.open, l.fresh())
	for _, e := range l.fresh() {
		w.writer.Add(e.Item)
	}
}

// restore returns a recorder over the journal.
func (w *world) restore(t testing.TB, o recorderOptions) *restored {
	t.Helper()
	return w.restoreOver(t, w.Journal, o)
}

// restoreOver is restore with a ledger that stands for the journal.
func (w *world) restoreOver(t testing.TB, l ledger, o recorderOptions) *restored {
	t.Helper()
	r, err := restore(t.Context(), l, w.options(o), forever)
	must(t, err)
	return r
}

// list returns the traces that match, of all pages.
func (w *world) list(t testing.TB, q store.Query) []store.Summary {
	t.Helper()
	if w.archived {
		<-w.writer.Opened()
	}
	var out []store.Summary
	for {
		page, err := w.view.List(t.Context(), q)
		must(t, err)
		if w.archived && page.Incomplete != "" {
			t.Error(page.Incomplete)
		}
		out = append(out, page.Traces...)
		if q.After = page.Next; q.After == "" {
			return out
		}
	}
}

// open returns the IDs of the open traces.
func (w *world) open(t testing.TB) []string {
	t.Helper()
	var out []string
	for _, sum := range w.list(t, store.Query{Open: true}) {
		out = append(out, sum.ID.String())
	}
	return out
}

func (w *world) trace(t testing.TB, id trace.TraceID) *store.Record {
	t.Helper()
	r, err := w.view.Trace(t.Context(), store.Scope{}, id)
	must(t, err)
	return r
}

// states returns the state with names that begin with prefix.
func (w *world) states(t testing.TB, prefix string) map[string][]byte {
	t.Helper()
	out, err := w.States(t.Context(), prefix)
	must(t, err)
	return out
}

// set changes one state.
func (w *world) set(t testing.TB, name string, value []byte) {
	t.Helper()
	must(t, w.Commit(t.Context(), &journal.Changes{AsOf: time.Now(), State: map[string][]byte{name: value}}))
}

// failing is a ledger whose first commits fail with err.
type failing struct {
	ledger
	times int
	err   error
}

func (f *failing) Commit(ctx context.Context, c *journal.Changes) error {
	if f.times > 0 {
		f.times--
		return f.err
	}
	return f.ledger.Commit(ctx, c)
}

// entry is a finished trace for both consumers.
func entry(t *span.Trace) *journal.Entry {
	return &journal.Entry{Item: journal.Item{For: journal.Archive | journal.Sender}, Trace: t}
}

func keepAll() sampling { return sampling{ratePerMillion: 1_000_000} }

// begin returns a recorder over a new world in a folder.
func begin(t testing.TB, dir string) (*world, *restored) {
	t.Helper()
	w := newWorld(t, dir)
	return w, w.restore(t, recorderOptions{Engine: lifecycle.Options{Cluster: "recorded"}})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// noOutbox returns an outbox without a destination.
func noOutbox(t *testing.T, w *world) *export.Outbox {
	t.Helper()
	out, err := export.OpenOutbox(t.Context(), export.OutboxOptions{Log: w.Journal})
	must(t, err)
	t.Cleanup(func() { _ = out.Close(context.WithoutCancel(t.Context())) })
	return out
}
