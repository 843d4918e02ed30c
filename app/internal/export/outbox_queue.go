// SPDX-License-Identifier: Apache-2.0

package export

import (
	"context"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
)

// Add queues entries after the look that holds them was committed. Looks are added in order: an
// entry with the number of an earlier one is a repetition and is ignored. Entries that do not wait
// for journal.Sender are ignored.
func (b *Outbox) Add(items ...journal.Item) {
	b.mu.Lock()
	for i := range items {
		in := &items[i]
		if in.For&journal.Sender == 0 || in.Seq <= b.last {
			continue
		}
		b.last = in.Seq
		b.backlog.add(item{seq: in.Seq, spans: max(1, in.Spans), queued: in.AsOf})
	}
	b.shed()
	b.mu.Unlock()
	b.nudge()
}

// SetLimits bounds the waiting spans in number and age, from now on. An entry larger than maxSpans
// by itself is dropped, too. Values that are not positive mean the defaults.
func (b *Outbox) SetLimits(maxSpans int, maxAge time.Duration) {
	b.mu.Lock()
	b.limits = normalLimits(maxSpans, maxAge)
	b.shed()
	b.mu.Unlock()
	b.nudge()
}

func normalLimits(spans int, age time.Duration) limits {
	if spans <= 0 {
		spans = DefaultOutboxSpans
	}
	if age <= 0 {
		age = DefaultOutboxAge
	}
	return limits{spans: spans, age: age}
}

// Hold makes the Outbox keep its entries and send nothing, or send again. It cancels the current
// request. The next sender repeats spans of it that have arrived.
func (b *Outbox) Hold(hold bool) {
	b.mu.Lock()
	b.holding = hold
	if hold && b.callBack != nil {
		b.callBack()
	}
	b.mu.Unlock()
	b.nudge()
}

// Delivered returns a time. All added entries from before it have been delivered, refused or
// dropped; the time is now if none waits. A look that is not added yet is unknown here: callers take
// the time of the last added look if that is earlier. Two observers see a trace end at slightly
// different times. Callers should therefore allow a margin.
func (b *Outbox) Delivered() time.Time {
	now := b.opts.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if oldest := b.backlog.oldest(); !oldest.IsZero() && oldest.Before(now) {
		return oldest
	}
	return now
}

// Forget removes entries from before the given time, because another server has delivered them. They
// do not count as lost. After an error the entries are forgotten and are removed later; after a
// crash before that they would be sent.
func (b *Outbox) Forget(ctx context.Context, before time.Time) error {
	b.mu.Lock()
	b.backlog.forget(func(i *item) bool { return i.queued.Before(before) }, func(i *item) { b.removals.add(i.seq) })
	b.mu.Unlock()
	return b.removals.removeAll(ctx)
}

// Reconcile marks the entries of the log again that this Outbox has delivered or dropped. A journal
// that was lost and filled again does not have these marks.
func (b *Outbox) Reconcile(ctx context.Context) error {
	pending, err := b.opts.Log.Pending(ctx, journal.Sender)
	if err != nil {
		return err
	}
	b.mu.Lock()
	waiting := map[uint64]bool{}
	for i := range b.backlog.head {
		waiting[b.backlog.head[i].seq] = true
	}
	for _, i := range b.backlog.queue {
		waiting[i.seq] = true
	}
	for _, i := range pending {
		if i.Seq <= b.last && !waiting[i.Seq] {
			b.removals.add(i.Seq)
		}
	}
	b.mu.Unlock()
	return b.removals.removeAll(ctx)
}

// Withdraw removes entries whose traces are to be forgotten. They do not count as lost. It cancels
// the current request and waits for its end: afterwards no span of them leaves, except those that
// the backend has already. The caller removes them from the log. If ctx ends before, Withdraw removes
// nothing.
func (b *Outbox) Withdraw(ctx context.Context, seqs []uint64) error {
	gone := make(map[uint64]bool, len(seqs))
	for _, seq := range seqs {
		gone[seq] = true
	}
	stop := context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.released.Broadcast()
	})
	defer stop()
	defer b.nudge()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.withdrawing++
	defer func() { b.withdrawing-- }()
	for b.backlog.busy {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if b.callBack != nil {
			b.callBack()
		}
		b.released.Wait()
	}
	b.backlog.forget(func(i *item) bool { return gone[i.seq] }, func(*item) {})
	return nil
}

// release ends the use of the backlog's head. The caller holds mu.
func (b *Outbox) release() {
	b.backlog.busy = false
	b.released.Broadcast()
}

// nudge wakes the sending goroutine.
func (b *Outbox) nudge() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}
