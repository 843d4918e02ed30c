// SPDX-License-Identifier: Apache-2.0

package export

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// run sends waiting spans until Close was called and nothing can be sent any more, or until ctx
// ends.
func (b *Outbox) run(ctx context.Context) {
	defer close(b.done)
	tell := func() { b.drops.tell(b.opts.Warn) }
	defer tell()
	reading, removing := trouble{warn: b.opts.Warn}, trouble{warn: b.opts.Warn}
	for ctx.Err() == nil {
		tell()
		b.settle(ctx, &removing)
		spans, err := b.load(ctx)
		reading.note(ctx, err)
		switch {
		case err != nil:
			b.pause(ctx, err)
		case len(spans) > 0:
			b.send(ctx, spans)
		case !b.wait(ctx):
			return
		}
	}
}

// settle marks delivered entries as done once they have waited long enough. Sending continues after
// a failure.
func (b *Outbox) settle(ctx context.Context, removing *trouble) {
	if due, some := b.removals.due(); some && due <= 0 {
		_, err := b.removals.remove(ctx)
		removing.note(ctx, err)
	}
}

// trouble is a failure that lasts.
type trouble struct {
	warn  func(format string, args ...any)
	lasts bool
}

// note warns of a failure once, until a success.
func (t *trouble) note(ctx context.Context, err error) {
	if err != nil && !t.lasts && ctx.Err() == nil {
		t.warn("%v", err)
	}
	t.lasts = err != nil
}

// load returns the spans of the next request, oldest first, and reads the missing ones. They are
// those of the last request, if it had no answer. It returns none if nothing can be sent. While it
// returns spans, the head of the backlog stays busy.
func (b *Outbox) load(ctx context.Context) ([]*span.Span, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shed()
	if b.holding || b.withdrawing > 0 || b.sender == nil {
		return nil, nil
	}
	b.backlog.busy = true
	if b.backlog.request == 0 {
		if err := b.gather(ctx); err != nil {
			b.release()
			return nil, err
		}
	}
	if b.backlog.request == 0 {
		b.release()
	}
	return b.backlog.next(b.backlog.request), nil
}

// gather reads entries until there are enough for a request. Unreadable ones count as lost. The
// caller holds mu, and the head of the backlog is busy.
func (b *Outbox) gather(ctx context.Context) error {
	have := 0
	for i := 0; have < maxBatch; {
		if i == len(b.backlog.head) && !b.backlog.advance() {
			break
		}
		h := &b.backlog.head[i]
		if !h.read {
			entry := h.item
			b.mu.Unlock()
			spans, err := b.read(ctx, entry)
			b.mu.Lock()
			switch {
			case lost(err):
				b.drop(entry.seq, entry.spans, DroppedUnreadable)
				b.backlog.remove(i)
				continue
			case err != nil:
				return err
			case len(spans) == 0:
				b.removals.add(entry.seq)
				b.backlog.remove(i)
				continue
			}
			b.backlog.fill(i, spans)
		}
		have += len(h.left)
		i++
	}
	b.backlog.request = min(have, maxBatch)
	return nil
}

// lost reports whether another attempt to read an entry is pointless.
func lost(err error) bool {
	return errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrDamaged)
}

// read returns the spans of an entry, ended.
func (b *Outbox) read(ctx context.Context, i item) ([]*span.Span, error) {
	t, err := b.opts.Log.Read(ctx, i.seq)
	if err != nil {
		return nil, fmt.Errorf("cannot read what is to be sent: %w", err)
	}
	return span.EndOpen([]*span.Trace{t}, i.queued)[0].Spans, nil
}

// send uploads a request with the first of spans, and pauses after a failure.
func (b *Outbox) send(ctx context.Context, spans []*span.Span) {
	got, calledBack := b.attempt(ctx, spans)
	if calledBack {
		return
	}
	if got.again {
		b.pause(ctx, got.reason)
		return
	}
	if b.answered(got) {
		b.sender.warnRefused(got)
	}
}

// attempt uploads, unless Hold or Withdraw cancels it.
func (b *Outbox) attempt(ctx context.Context, spans []*span.Span) (got answer, calledBack bool) {
	sending, callBack := context.WithCancel(ctx)
	defer callBack()
	b.mu.Lock()
	if b.holding || b.withdrawing > 0 {
		callBack()
	}
	b.callBack = callBack
	b.mu.Unlock()
	got = b.sender.attempt(sending, spans)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.callBack = nil
	if got.again && sending.Err() != nil && ctx.Err() == nil {
		b.release()
		return got, true
	}
	return got, false
}

// pause records a failed attempt, and waits until the next one is due.
func (b *Outbox) pause(ctx context.Context, reason error) {
	b.mu.Lock()
	b.release()
	if ctx.Err() != nil { // failed because ctx ended
		b.mu.Unlock()
		return
	}
	b.stats.LastError, b.stats.LastFailure = reason, b.opts.Now()
	b.shed()
	b.mu.Unlock()
	b.drops.tell(b.opts.Warn)
	b.sender.rest(ctx, b.closing)
}

// answered removes the answered spans from the backlog. It reports whether spans were refused for a
// new reason.
func (b *Outbox) answered(got answer) bool {
	refused := got.refusedSpans()
	exported := got.spans - refused
	b.mu.Lock()
	defer b.mu.Unlock()
	b.release()
	b.removals.add(b.backlog.consume(got.spans)...)
	b.stats.Exported += int64(exported)
	b.stats.Refused += int64(refused)
	b.stats.Bytes += int64(got.bytes)
	if refused > 0 {
		b.stats.LastError, b.stats.LastFailure = got.reason, b.opts.Now()
	}
	if exported > 0 {
		b.stats.LastSuccess = b.opts.Now()
	}
	return refused > 0 && b.losses.count(refused, got.reason)
}

// wait blocks until there may be work. It returns false when there will be none.
func (b *Outbox) wait(ctx context.Context) bool {
	var timer <-chan time.Time
	pause, some := b.removals.due()
	b.mu.Lock()
	if !some && len(b.backlog.queue)+len(b.backlog.head) > 0 {
		pause, some = maxPause, true // held entries grow old
	}
	b.mu.Unlock()
	if some {
		t := time.NewTimer(pause)
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-ctx.Done():
		return false
	case <-b.closing:
		b.mu.Lock()
		defer b.mu.Unlock()
		// Also send entries that were added just before Close.
		return !b.holding && b.sender != nil && len(b.backlog.queue)+len(b.backlog.head) > 0
	case <-b.wake:
	case <-timer:
	}
	return true
}
