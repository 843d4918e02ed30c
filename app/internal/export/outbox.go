// SPDX-License-Identifier: Apache-2.0

package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// The default limits of an Outbox, and of its Close.
const (
	// DefaultOutboxSpans limits the waiting spans, and DefaultOutboxAge their time in the queue.
	DefaultOutboxSpans = 1_000_000
	DefaultOutboxAge   = 24 * time.Hour
	// closeGrace limits the time of Close after the end of its context, to mark delivered entries as
	// done.
	closeGrace = time.Second
)

// Log is the part of a journal that an Outbox needs. A *journal.Journal is one.
type Log interface {
	// Pending returns the entries that wait for the consumer, in order.
	Pending(ctx context.Context, of journal.Consumer) ([]journal.Item, error)
	// Read returns the trace of an entry. An error that is store.ErrNotFound or store.ErrDamaged is
	// final.
	Read(ctx context.Context, seq uint64) (*span.Trace, error)
	// Done marks entries as done by the consumer. Calls come from the Outbox's goroutine, from
	// Forget and from Close, one at a time. A call is repeated after an error.
	Done(ctx context.Context, by journal.Consumer, seqs ...uint64) error
}

// OutboxOptions configures an Outbox: its destination and its log. Log is required.
type OutboxOptions struct {
	Options

	// Log has the entries to send.
	Log Log

	// MaxSpans and MaxAge are the initial values of SetLimits.
	MaxSpans int
	MaxAge   time.Duration
	// Hold starts the Outbox as after Hold(true).
	Hold bool
	// Now is the clock for the ages of entries; nil means time.Now.
	Now func() time.Time

	// linger is the constant, except in tests.
	linger time.Duration
}

// Outbox sends the entries of a journal's log in the background: each span at least once, across
// crashes of this process and outages of the backend. Entries are marked as done after the backend's
// answer. After a crash in between, their spans are sent again with the same IDs. A request that
// failed is repeated with the same spans.
//
// An entry is queued at the time of its look. Its open spans are sent as ended at that time,
// unfinished.
//
// The number of waiting spans and their age are bounded. Beyond a bound the oldest are dropped and
// counted. In memory an entry takes about 50 bytes. Without a destination, nothing is sent, and
// entries grow old.
//
// An Outbox is safe for concurrent use. Create one with OpenOutbox.
type Outbox struct {
	opts   OutboxOptions
	sender *sender // nil without a destination
	cancel context.CancelFunc

	wake     chan struct{}
	closing  chan struct{}
	done     chan struct{}
	close    sync.Once
	result   error
	removals removals
	drops    *drops

	mu      sync.Mutex
	last    uint64 // the highest number of an entry so far
	backlog backlog
	limits  limits
	holding bool
	// withdrawing counts the calls of Withdraw, which stop the sending. released signals that the
	// head of the backlog is not busy, or that the context of a call has ended.
	withdrawing int
	released    *sync.Cond
	// callBack cancels the current request; nil if there is none.
	callBack context.CancelFunc
	stats    OutboxStats
	losses   losses
}

// limits are the values of SetLimits.
type limits struct {
	spans int
	age   time.Duration
}

// OpenOutbox starts an Outbox with the entries that wait in the log. An error names the wrong
// setting or variable, or the journal. OpenOutbox does not contact the backend. Close stops the
// Outbox. The end of ctx stops it at once.
func OpenOutbox(ctx context.Context, o OutboxOptions) (*Outbox, error) {
	if o.Warn == nil {
		o.Warn = func(string, ...any) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.linger = cmp.Or(o.linger, linger)
	left, err := o.Log.Pending(ctx, journal.Sender)
	if err != nil {
		return nil, fmt.Errorf("cannot open the outbox: %w", err)
	}
	to, err := newSender(ctx, o.Options)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	b := &Outbox{
		opts: o, sender: to, cancel: cancel, holding: o.Hold,
		wake: make(chan struct{}, 1), closing: make(chan struct{}), done: make(chan struct{}),
		removals: removals{log: o.Log, linger: o.linger, calling: make(chan struct{}, 1)}, drops: newDrops(),
		limits: normalLimits(o.MaxSpans, o.MaxAge),
	}
	b.released = sync.NewCond(&b.mu)
	b.Add(left...)
	go b.run(ctx)
	return b, nil
}

// Wants reports whether there is a destination. Without one, a caller should commit entries without
// journal.Sender: they would wait until they are too old.
func (b *Outbox) Wants() bool { return b.sender != nil }

// Endpoint returns the destination without credentials; "" without a destination.
func (b *Outbox) Endpoint() string {
	if b.sender == nil {
		return ""
	}
	return b.sender.target.name
}

// Close sends waiting spans until ctx ends, and stops; while the Outbox holds, it sends nothing.
// Unsent entries stay in the log for the next start, and so do those added after Close. Close marks
// delivered entries as done, for up to a second after the end of ctx: call it before the journal is
// closed. An error means that delivered entries are not marked and will be sent again. A second call
// returns the same error.
func (b *Outbox) Close(ctx context.Context) error {
	b.close.Do(func() {
		close(b.closing)
		select {
		case <-b.done:
		case <-ctx.Done():
		}
		b.cancel()
		<-b.done
		b.result = b.removals.removeAll(ctx)
		if ctx.Err() != nil {
			grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
			defer cancel()
			b.result = b.removals.removeAll(grace)
		}
		if b.sender != nil {
			b.result = errors.Join(b.result, b.sender.stop(ctx))
		}
	})
	return b.result
}
