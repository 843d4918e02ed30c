// SPDX-License-Identifier: Apache-2.0

package export

import (
	"maps"
	"time"
)

// DropReason says why spans were lost.
type DropReason string

// Why an Outbox drops spans.
const (
	// DroppedFull: more spans waited than may.
	DroppedFull DropReason = "full"
	// DroppedAge: they waited for longer than they may.
	DroppedAge DropReason = "age"
	// DroppedPruned: the store has removed them before they were sent.
	DroppedPruned DropReason = "pruned"
	// DroppedUnreadable: the entry or the trace cannot be read. How many spans
	// an unreadable entry stood for is not known; it counts as one.
	DroppedUnreadable DropReason = "unreadable"
)

var dropWords = map[DropReason]string{
	DroppedFull:       "more than otlp.outbox.maxSpans were waiting",
	DroppedAge:        "they waited for longer than otlp.outbox.maxAge",
	DroppedPruned:     "retention has removed them from the store before they were sent",
	DroppedUnreadable: "they cannot be read from the store",
}

// shed drops what the limits do not allow. The caller holds mu.
func (b *Outbox) shed() {
	b.backlog.shed(b.limits.spans, b.opts.Now().Add(-b.limits.age), func(i *item, spans int, why DropReason) {
		b.drop(i.name(), spans, why)
	})
}

// drop counts what an entry stood for as lost, and has the entry removed. The
// caller holds mu.
func (b *Outbox) drop(name string, spans int, why DropReason) {
	b.removed.add(name)
	b.lose(spans, why)
}

// lose counts spans as lost. The caller holds mu.
func (b *Outbox) lose(spans int, why DropReason) {
	if b.stats.Dropped == nil {
		b.stats.Dropped = map[DropReason]int64{}
	}
	b.stats.Dropped[why] += int64(spans)
	now := b.opts.Now()
	if last, told := b.told[why]; !told || now.Sub(last) >= tellEvery {
		b.told[why] = now
		b.news = append(b.news, why)
	}
}

// tellEvery is how often a reason is warned of.
const tellEvery = time.Hour

// tell warns of what was dropped: once an hour for each reason. Only the
// goroutine that sends calls it, so that there is one warning at a time.
func (b *Outbox) tell() {
	b.mu.Lock()
	news := b.news
	b.news = nil
	lost := maps.Clone(b.stats.Dropped)
	b.mu.Unlock()
	for _, why := range news {
		b.opts.Warn("%d spans have been dropped that were to be sent: %s", lost[why], dropWords[why])
	}
}
