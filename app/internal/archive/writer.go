// SPDX-License-Identifier: Apache-2.0

// Package archive writes the pending log of a server into its archive, in the background. It opens
// the archive, and again after a loss, while the log waits. A trouble of the archive delays no look
// and loses nothing until the log reaches its limits.
package archive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// The default limits of the log: entries beyond them are dropped for the archive and counted.
const (
	DefaultMaxBytes = 1 << 30
	DefaultMaxAge   = 24 * time.Hour
)

const (
	// firstPause and maxPause bound the pauses between attempts.
	firstPause, maxPause = 200 * time.Millisecond, 10 * time.Second
	// checkEvery is the period of the check of an idle archive.
	checkEvery = 5 * time.Second
	// ending bounds the writing of the rest at the end.
	ending = 10 * time.Second
)

// Options configure a Writer. Open, Log, Read and Archived are required.
type Options struct {
	// Open opens the archive. It may take long, and is called again after a failure or a loss.
	Open func(context.Context) (store.Archive, error)
	// Log is the pending log.
	Log Log
	// Journal is compared with each opened archive, and Differs gets the result, unless they agree.
	// Journal nil means no comparison.
	Journal Journal
	Differs func(journal.Difference)
	// Read returns the trace of an entry; store.ErrNotFound or store.ErrDamaged if it is lost.
	Read func(ctx context.Context, seq uint64) (*span.Trace, error)
	// Archived is called with the entries that are in the archive, or lost.
	Archived func(seqs []uint64)
	// Lost is called when an open archive was lost or damaged; may be nil.
	Lost func(why error)
	// Wrote gets the duration of each batch; may be nil.
	Wrote func(time.Duration)
	// Refused gets an entry that the archive refuses and that is left out, with the reason; may be
	// nil.
	Refused func(journal.Item, error)
	// Trouble gets the error of an attempt, except a loss, and nil after a success; may be nil.
	Trouble func(error)
	// MaxBytes and MaxAge limit the log; 0 means the defaults.
	MaxBytes int
	MaxAge   time.Duration
	// Now is the clock of the entries.
	Now func() time.Time
}

// Log is the part of a journal that a Writer needs.
type Log interface {
	// Done marks entries as archived.
	Done(ctx context.Context, by journal.Consumer, seqs ...uint64) error
}

// Journal is the journal of the log.
type Journal interface {
	// Identity returns the identity of the journal, for the batches.
	Identity() int64
	// Join compares the journal with an archive.
	Join(ctx context.Context, with store.Pair) (journal.Difference, error)
}

// Stats are the counts of a Writer.
type Stats struct {
	// Entries and Bytes count what waits for the archive. Oldest is the time of the first; zero if
	// none waits.
	Entries, Bytes int
	Oldest         time.Time
	// Dropped counts the spans that were dropped since the start: the log was full, or they cannot
	// be read, or the archive refuses them.
	Dropped int64
}

// Writer is the log's consumer for the archive. It is safe for concurrent use.
type Writer struct {
	opts    Options
	wake    chan struct{}
	current current
	backlog backlog
	// refusals and untold are only for Run. untold are the entries to call Archived for.
	refusals refusals
	untold   []uint64
}

// New returns a Writer with the entries that an earlier process left. Run starts it.
func New(o Options, left []journal.Item) *Writer {
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.MaxAge == 0 {
		o.MaxAge = DefaultMaxAge
	}
	w := &Writer{opts: o, wake: make(chan struct{}, 1), current: newCurrent()}
	w.Add(left...)
	return w
}

// Add adds entries of the log.
func (w *Writer) Add(items ...journal.Item) {
	w.backlog.add(items)
	signal(w.wake)
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Opened is closed when the archive was opened for the first time.
func (w *Writer) Opened() <-chan struct{} { return w.current.opened }

// Archive returns the archive, or an error that wraps store.ErrUnavailable and has the kind of the
// trouble. The log has its details, which name files.
func (w *Writer) Archive() (store.Archive, error) { return w.current.available() }

// Reader is Archive for readers.
func (w *Writer) Reader() (store.Stored, error) {
	a, err := w.current.available()
	if err != nil {
		return nil, err
	}
	return a, nil
}

// Damaged tells that a user of the archive has found damage in it, which writes may not touch. The
// next step loses the archive, so that Open checks it. Other errors are ignored.
func (w *Writer) Damaged(archive store.Archive, err error) { w.current.damaged(archive, err) }

// Stats returns the counts.
func (w *Writer) Stats() Stats { return w.backlog.stats() }

// flushEvery is the period of checks during a Flush.
const flushEvery = 20 * time.Millisecond

// Flush waits until the entries that are in the log now are in the archive, or lost, and are marked
// in the log. Run must be running.
func (w *Writer) Flush(ctx context.Context) error {
	last := w.backlog.last()
	ticker := time.NewTicker(flushEvery)
	defer ticker.Stop()
	for !w.backlog.isFlushed(last) {
		signal(w.wake)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// Run opens the archive and writes until ctx ends. Then it writes the rest, for a limited time, and
// closes the archive. What is left stays in the log.
func (w *Writer) Run(ctx context.Context) error {
	pause := firstPause
	for ctx.Err() == nil {
		err := w.step(ctx)
		w.limit(ctx)
		if w.opts.Trouble != nil && ctx.Err() == nil && !errors.Is(err, errLost) {
			w.opts.Trouble(err)
		}
		if err == nil {
			pause = firstPause
			wait(ctx, w.wake, checkEvery)
			continue
		}
		wait(ctx, nil, pause)
		pause = min(2*pause, maxPause)
	}
	return w.end(context.WithoutCancel(ctx))
}

// wait waits for a signal, a time, or the end.
func wait(ctx context.Context, signal <-chan struct{}, most time.Duration) {
	t := time.NewTimer(most)
	defer t.Stop()
	select {
	case <-signal:
	case <-t.C:
	case <-ctx.Done():
	}
}

// end writes the rest and closes the archive.
func (w *Writer) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, ending)
	defer cancel()
	archive := w.current.get()
	if archive == nil {
		return nil
	}
	_ = w.writeAll(ctx, archive) // the rest stays in the log
	w.current.lack(store.ErrClosed)
	if err := archive.Close(); err != nil && !errors.Is(err, store.ErrDamaged) {
		return fmt.Errorf("cannot close the archive: %w", err)
	}
	return nil
}

// step opens the archive if it is not open, and writes all that waits.
func (w *Writer) step(ctx context.Context) error {
	archive := w.current.get()
	if archive == nil {
		var err error
		if archive, err = w.opts.Open(ctx); err != nil {
			w.current.lack(err)
			return err
		}
		if err = w.join(ctx, archive); err != nil {
			err = errors.Join(err, archive.Close())
			w.current.lack(err)
			return err
		}
		w.current.open(archive)
	}
	err := w.current.takeDamage()
	if err == nil {
		err = archive.Check(ctx)
	}
	if err == nil {
		err = w.writeAll(ctx, archive)
	}
	if errors.Is(err, store.ErrDamaged) {
		w.lose(archive, err)
		return errLost
	}
	return err
}

// join compares an opened archive with the journal.
func (w *Writer) join(ctx context.Context, archive store.Archive) error {
	paired, ok := archive.(store.Paired)
	if !ok || w.opts.Journal == nil {
		return nil
	}
	with, err := paired.Pair(ctx)
	if err != nil {
		return err
	}
	different, err := w.opts.Journal.Join(ctx, with)
	if err == nil && different != journal.Agree && w.opts.Differs != nil {
		w.opts.Differs(different)
	}
	return err
}

// errLost is the result of an attempt that Lost has reported.
var errLost = errors.New("the archive was lost")

// lose closes a lost archive. The next step opens another one.
func (w *Writer) lose(archive store.Archive, why error) {
	w.current.lack(why)
	if err := archive.Close(); errors.Is(err, store.ErrDamaged) {
		why = err
	}
	if w.opts.Lost != nil {
		w.opts.Lost(why)
	}
}

// writeAll writes what waits, one look at a time.
func (w *Writer) writeAll(ctx context.Context, archive store.Archive) error {
	for {
		items := w.backlog.firstLook()
		if len(items) == 0 {
			w.tidy(ctx)
			return nil
		}
		lost, err := w.opts.write(ctx, archive, items)
		switch {
		case err == nil:
			w.leave(len(items), lost)
		case isRefusal(err) && w.refusals.areEnough(items[0].Seq):
			err = w.writeOneByOne(ctx, archive)
		}
		if err != nil {
			w.tell()
			return err
		}
		if len(w.backlog.unmarked()) >= maxDone {
			w.tidy(ctx)
		}
	}
}

// maxDone is the number of archived entries at which they are marked in the log. After a kill, those
// without a mark are written again, which changes nothing.
const maxDone = 500

// write writes entries of one look as a batch. It returns the spans of those that cannot be read.
func (o *Options) write(ctx context.Context, archive store.Archive, items []journal.Item) (lost int, err error) {
	b := &store.Batch{Revision: items[0].Revision, AsOf: items[0].AsOf}
	if o.Journal != nil {
		b.Journal = o.Journal.Identity()
	}
	for _, i := range items {
		t, err := o.Read(ctx, i.Seq)
		switch {
		case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrDamaged):
			lost += i.Spans
		case err != nil:
			return 0, err
		case i.Amends:
			b.Amendments = append(b.Amendments, t)
		default:
			b.Finished = append(b.Finished, t)
		}
	}
	if len(b.Finished)+len(b.Amendments) == 0 {
		return lost, nil
	}
	began := time.Now()
	if err := archive.Write(ctx, b); err != nil {
		return 0, &writeError{err}
	}
	if o.Wrote != nil {
		o.Wrote(time.Since(began))
	}
	return lost, nil
}

// leave removes the first n entries, which are in the archive or lost.
func (w *Writer) leave(n, lost int) { w.untold = append(w.untold, w.backlog.leave(n, lost)...) }

// tell calls Archived for the entries since the last call. The cost of a call grows with all waiting
// entries. So a long backlog takes few calls with many entries each.
func (w *Writer) tell() {
	if len(w.untold) > 0 {
		w.opts.Archived(w.untold)
		w.untold = nil
	}
}

// tidy marks the archived entries in the log. After an error they are marked with the next ones. It
// is not an error of the archive, and the looks report those of the journal.
func (w *Writer) tidy(ctx context.Context) {
	w.tell()
	done := w.backlog.unmarked()
	if len(done) == 0 {
		return
	}
	if s, ok := w.current.get().(store.Syncer); ok && s.Sync(ctx) != nil {
		return // a power failure would lose them
	}
	if err := w.opts.Log.Done(ctx, journal.Archive, done...); err != nil {
		return
	}
	w.backlog.mark(len(done))
}

// limit drops the oldest entries beyond the limits of the log.
func (w *Writer) limit(ctx context.Context) {
	if n, spans := w.backlog.beyond(w.opts.MaxBytes, w.opts.Now().Add(-w.opts.MaxAge)); n > 0 {
		w.leave(n, spans)
		w.tidy(ctx)
	}
}
