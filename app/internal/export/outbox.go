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

// The limits of an Outbox where none are given, and of its end.
const (
	// DefaultOutboxSpans is how many spans may wait, and DefaultOutboxAge for
	// how long.
	DefaultOutboxSpans = 1_000_000
	DefaultOutboxAge   = 24 * time.Hour
	// closeGrace is how long Close may take after its context has ended, to
	// remove from the store what was delivered.
	closeGrace = time.Second
)

// OutboxOptions says where an Outbox sends to, and where it is kept. Store and
// Commit must be set.
type OutboxOptions struct {
	Options

	// Store holds the traces, and the entries as state below OutboxPrefix.
	Store store.Reader
	// Commit stores state, and returns nil when it survives the end of the
	// process. It removes entries that were delivered or dropped; repeating
	// it is harmless. There is one call at a time, from a goroutine of the
	// Outbox's, from Forget or from Close; it may wait for whoever writes to
	// the store, and must return when its context ends. Since a store ignores
	// the state of a batch that is older than one it knows, Commit must not
	// overtake a batch that is being tried again.
	Commit func(ctx context.Context, state map[string][]byte) error

	// MaxSpans and MaxAge are as for SetLimits.
	MaxSpans int
	MaxAge   time.Duration
	// Hold begins the Outbox as Hold(true) would.
	Hold bool
	// Now is the clock by which entries are queued and grow old; nil is
	// time.Now.
	Now func() time.Time

	// linger is the constant, unless a test says otherwise.
	linger time.Duration
}

// Outbox sends spans of stored traces in the background, each at least once,
// whatever happens to this process or to the backend. What is to be sent is in
// the store as references, which are written together with the traces and
// removed after the backend's answer: after a crash between the two, spans are
// sent again, with the same IDs. Where nothing says where to send, it queues
// nothing, and what an earlier process has left grows old.
//
// An entry takes three steps: Queue gives it a name, the caller stores it in one
// batch with its trace, and Stored says so. A trace is sent as it is in the
// store when its turn comes, so an amendment that came meanwhile may be sent
// with it and again by its own entry.
//
// What waits is bounded by a number of spans and by age; beyond that the oldest
// is dropped and counted. In memory an entry takes about 100 bytes.
//
// An Outbox is safe for concurrent use. Make one with OpenOutbox.
type Outbox struct {
	opts   OutboxOptions
	sender *sender // nil if nothing is to be sent
	cancel context.CancelFunc

	wake    chan struct{}
	closing chan struct{}
	done    chan struct{}
	close   sync.Once
	result  error
	// committing is held by whoever calls Commit.
	committing chan struct{}

	mu      sync.Mutex
	last    uint64
	queued  map[string]item // named by Queue, not stored yet
	backlog backlog
	removed removals
	limits  limits
	holding bool
	// callBack ends the request that is under way; nil if none is.
	callBack context.CancelFunc
	stats    OutboxStats
	losses   losses
	// news are reasons to warn of, and told when each was last.
	news []DropReason
	told map[DropReason]time.Time
}

// limits are those of SetLimits.
type limits struct {
	spans int
	age   time.Duration
}

// OpenOutbox starts an Outbox that goes on with what the store holds. An error
// names the setting or variable that is wrong, or the store; whether the backend
// is there is not tried. Close ends the Outbox. When ctx ends, so does its work,
// at once.
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

// restore takes over what an earlier process has left.
func (b *Outbox) restore(left map[string][]byte) {
	for _, name := range slices.Sorted(maps.Keys(left)) {
		i, err := decodeItem(name, left[name])
		b.last = max(b.last, i.seq) // a name that is to be removed is not given again
		if err != nil {
			b.drop(name, 1, DroppedUnreadable)
			continue
		}
		b.backlog.add(i)
	}
	b.shed()
}

// Endpoint names where spans go, without credentials; "" if nowhere.
func (b *Outbox) Endpoint() string {
	if b.sender == nil {
		return ""
	}
	return b.sender.target.name
}

// Close sends what waits until ctx ends, and stops; while the Outbox holds,
// nothing is sent. What was not sent stays in the store for the next start, and
// so does what is queued after Close. It calls Commit, for up to a second after
// ctx has ended: call it while that can still write. Its error says that what
// was delivered could not be removed, and will be sent again. A second call
// returns the same.
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
