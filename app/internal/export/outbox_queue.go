// SPDX-License-Identifier: Apache-2.0

package export

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
)

// Queue returns the state that queues entries, for the batch that stores their traces. The entries
// wait until Stored confirms the batch; until then they count as undelivered. The state may also
// remove delivered entries. It is nil without entries or without a destination.
func (b *Outbox) Queue(entries ...Entry) map[string][]byte {
	if b.sender == nil || len(entries) == 0 {
		return nil
	}
	now := b.opts.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	state := b.removed.state(maxRemove)
	for _, e := range entries {
		b.last++
		i := item{Entry: e.normal(now), seq: b.last}
		i.Only = slices.Clone(e.Only)
		name := i.name()
		b.queued[name] = i
		state[name] = i.encode()
	}
	return state
}

// Stored confirms that a batch with this state was written. state may be that of the whole batch or
// the result of Queue. Its entries are sent from now on. Other state is ignored, and so is a
// repetition.
func (b *Outbox) Stored(state map[string][]byte) {
	var items []item
	b.mu.Lock()
	for name, value := range state {
		if !strings.HasPrefix(name, OutboxPrefix) {
			continue
		}
		if value == nil {
			b.removed.drop(name)
			continue
		}
		if i, ok := b.queued[name]; ok {
			delete(b.queued, name)
			items = append(items, i)
		}
	}
	slices.SortFunc(items, func(x, y item) int { return cmp.Compare(x.seq, y.seq) })
	b.backlog.add(items...)
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

// Delivered returns a time. Everything queued before it has been delivered, refused or dropped; the
// time is now if nothing waits. Entries compare by their Queued time, which may precede the call of
// Queue. Two observers also see a trace end at slightly different times. Callers should therefore
// allow a margin.
func (b *Outbox) Delivered() time.Time {
	now := b.opts.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	oldest := b.backlog.oldest()
	for _, i := range b.queued {
		oldest = earlier(oldest, i.Queued)
	}
	if oldest.IsZero() || now.Before(oldest) {
		return now
	}
	return oldest
}

// Forget removes entries queued before the given time, because another server has delivered them.
// They do not count as lost. Forget calls Commit, so the goroutine that serves Commit must not wait
// for it. After an error the entries are forgotten and are removed later; after a crash before that
// they would be sent.
func (b *Outbox) Forget(ctx context.Context, before time.Time) error {
	b.mu.Lock()
	b.backlog.forget(before, func(i *item) { b.removed.add(i.name()) })
	b.mu.Unlock()
	return b.tidy(ctx)
}

// nudge wakes the sending goroutine.
func (b *Outbox) nudge() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}
