// SPDX-License-Identifier: Apache-2.0

package export

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
)

// Queue returns the state that queues entries, for the batch that stores their
// traces. They wait until Stored is told that it was written, and count as not
// delivered meanwhile. The state may also remove entries that were delivered. It
// is nil if there are no entries, or if nothing is to be sent.
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

// Stored says that a batch was written which had that state: all of the batch's
// or what Queue gave for it. Its entries are sent from now on. State that has
// nothing to do with the Outbox is ignored, and so is a repetition.
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

// SetLimits bounds what waits, from now on: to that many spans, and to what was
// queued less than that long ago; an entry that is more by itself goes, too.
// What is not positive means the default.
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

// Hold makes the Outbox keep what it has and send nothing, or send again. A
// request that is under way is called back: what of it has arrived is sent
// again, by whoever sends then.
func (b *Outbox) Hold(hold bool) {
	b.mu.Lock()
	b.holding = hold
	if hold && b.callBack != nil {
		b.callBack()
	}
	b.mu.Unlock()
	b.nudge()
}

// Delivered returns a time before which everything that was queued has been
// delivered, refused or dropped: now if nothing waits. Entries are compared by their
// Queued time, which may lie before the call of Queue; and two observers see a
// trace end at slightly different times. So a margin belongs to what is made of
// it.
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

// Forget removes what was queued before that time, because somebody else has
// delivered it; it does not count as lost. It calls Commit, so whoever serves
// Commit must not wait for it. After an error the entries are forgotten all the
// same, and removed later; after a crash before that they would be sent.
func (b *Outbox) Forget(ctx context.Context, before time.Time) error {
	b.mu.Lock()
	b.backlog.forget(before, func(i *item) { b.removed.add(i.name()) })
	b.mu.Unlock()
	return b.tidy(ctx)
}

// nudge wakes the goroutine that sends.
func (b *Outbox) nudge() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}
