// SPDX-License-Identifier: Apache-2.0

package export

import (
	"maps"
	"time"
)

// DropReason is the reason for lost spans.
type DropReason string

// Reasons for which an Outbox drops spans.
const (
	// DroppedFull: too many spans were waiting.
	DroppedFull DropReason = "full"
	// DroppedAge: they waited too long.
	DroppedAge DropReason = "age"
	// DroppedUnreadable: the entry is damaged, or it is missing because the journal was lost.
	DroppedUnreadable DropReason = "unreadable"
)

var dropWords = map[DropReason]string{
	DroppedFull:       "more than otlp.outbox.maxSpans were waiting",
	DroppedAge:        "they waited for longer than otlp.outbox.maxAge",
	DroppedUnreadable: "they cannot be read from the journal",
}

// shed drops entries beyond the limits. The caller holds mu.
func (b *Outbox) shed() {
	b.backlog.shed(b.limits.spans, b.opts.Now().Add(-b.limits.age), func(i *item, spans int, why DropReason) {
		b.drop(i.seq, spans, why)
	})
}

// drop counts an entry's spans as lost, and schedules its removal. The caller holds mu.
func (b *Outbox) drop(seq uint64, spans int, why DropReason) {
	b.removed.add(seq)
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

// tellEvery is the shortest time between two warnings of one reason.
const tellEvery = time.Hour

// tell warns about dropped spans, once an hour for each reason. Only the sending goroutine calls
// it, so that warnings come one at a time.
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
