// SPDX-License-Identifier: Apache-2.0

package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// The default limits of an Outbox, and of its Close.
const (
	// DefaultOutboxSpans limits the waiting spans, and DefaultOutboxAge their time in the queue.
	DefaultOutboxSpans = 1_000_000
	DefaultOutboxAge   = 24 * time.Hour
	// closeGrace limits the time of Close after the end of its context, to remove delivered entries
	// from the store.
	closeGrace = time.Second
)

// OutboxOptions configures an Outbox: its destination and its store. Store and Commit are required.
type OutboxOptions struct {
	Options

	// Store holds the traces, and the entries as state below OutboxPrefix.
	Store store.Reader
	// Commit writes state, and returns nil once it is durable. It removes delivered or dropped
	// entries; repeating it is harmless. Calls come one at a time, from the Outbox's goroutine,
	// from Forget or from Close. It may wait for the store's writer, and must return when its
	// context ends. A store ignores the state of a batch older than its latest one. Therefore
	// Commit must not overtake a batch that is being retried.
	Commit func(ctx context.Context, state map[string][]byte) error

	// MaxSpans and MaxAge are the initial values of SetLimits.
	MaxSpans int
	MaxAge   time.Duration
	// Hold starts the Outbox as after Hold(true).
	Hold bool
	// Now is the clock for the queue times and ages of entries; nil means time.Now.
	Now func() time.Time

	// linger is the constant, except in tests.
	linger time.Duration
}

// Outbox sends spans of stored traces in the background, each at least once, across crashes of this
// process and outages of the backend. The store holds references to the spans to send. They are
// written together with the traces and removed after the backend's answer. After a crash in
// between, spans are sent again with the same IDs. Without a destination, Outbox queues nothing,
// and entries from an earlier process grow old.
//
// An entry takes three steps. Queue names it, the caller stores it in one batch with its trace, and
// Stored confirms the write. A trace is sent in its stored version at that time. An amendment may
// therefore be sent with its trace and again by its own entry.
//
// The number of waiting spans and their age are bounded. Beyond a bound the oldest are dropped and
// counted. In memory an entry takes about 100 bytes.
//
// An Outbox is safe for concurrent use. Create one with OpenOutbox.
type Outbox struct {
	opts   OutboxOptions
	sender *sender // nil without a destination
	cancel context.CancelFunc

	wake    chan struct{}
	closing chan struct{}
	done    chan struct{}
	close   sync.Once
	result  error
	// committing is held during a call of Commit.
	committing chan struct{}

	mu      sync.Mutex
	last    uint64
	queued  map[string]item // named by Queue, not yet stored
	backlog backlog
	removed removals
	limits  limits
	holding bool
	// callBack cancels the current request; nil if there is none.
	callBack context.CancelFunc
	stats    OutboxStats
	losses   losses
	// news are reasons to warn about. told has the time of each reason's last warning.
	news []DropReason
	told map[DropReason]time.Time
}

// limits are the values of SetLimits.
type limits struct {
	spans int
	age   time.Duration
}

// OpenOutbox starts an Outbox with the entries in the store. An error names the wrong setting or
// variable, or the store. OpenOutbox does not contact the backend. Close stops the Outbox. The end
// of ctx stops it at once.
func OpenOutbox(ctx context.Context, o OutboxOptions) (*Outbox, error) {
	if o.Warn == nil {
		o.Warn = func(string, ...any) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.linger = cmp.Or(o.linger, linger)
	left, err := o.Store.States(ctx, OutboxPrefix)
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
		committing: make(chan struct{}, 1),
		queued:     map[string]item{}, told: map[DropReason]time.Time{},
		limits: normalLimits(o.MaxSpans, o.MaxAge), removed: removals{linger: o.linger},
	}
	b.restore(left)
	go b.run(ctx)
	return b, nil
}

// restore takes over the entries of an earlier process.
func (b *Outbox) restore(left map[string][]byte) {
	for _, name := range slices.Sorted(maps.Keys(left)) {
		i, err := decodeItem(name, left[name])
		b.last = max(b.last, i.seq) // do not reuse the name of an entry that is to be removed
		if err != nil {
			b.drop(name, 1, DroppedUnreadable)
			continue
		}
		b.backlog.add(i)
	}
	b.shed()
}

// Endpoint returns the destination without credentials; "" without a destination.
func (b *Outbox) Endpoint() string {
	if b.sender == nil {
		return ""
	}
	return b.sender.target.name
}

// Close sends waiting spans until ctx ends, and stops; while the Outbox holds, it sends nothing.
// Unsent spans stay in the store for the next start, and so do those queued after Close. Close
// calls Commit, for up to a second after the end of ctx: call Close while Commit can still write.
// An error means that delivered entries were not removed and will be sent again. A second call
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
		b.result = b.tidy(ctx)
		if ctx.Err() != nil {
			grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
			defer cancel()
			b.result = b.tidy(grace)
		}
		if b.sender != nil {
			b.result = errors.Join(b.result, b.sender.stop(ctx))
		}
	})
	return b.result
}
