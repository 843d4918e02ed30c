// SPDX-License-Identifier: Apache-2.0

package export

import (
	"maps"
	"sync"
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

// tellEvery is the shortest time between two warnings of one reason.
const tellEvery = time.Hour

// drops counts lost spans by reason, and warns about them. It is safe for concurrent use.
type drops struct {
	mu     sync.Mutex
	counts map[DropReason]int64
	// news are reasons to warn about. told has the time of each reason's last warning.
	news []DropReason
	told map[DropReason]time.Time
}

func newDrops() *drops {
	return &drops{counts: map[DropReason]int64{}, told: map[DropReason]time.Time{}}
}

func (d *drops) count(spans int, why DropReason, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.counts[why] += int64(spans)
	if last, told := d.told[why]; !told || now.Sub(last) >= tellEvery {
		d.told[why] = now
		d.news = append(d.news, why)
	}
}

// byReason returns the counts; nil if there are none. The caller owns the result.
func (d *drops) byReason() map[DropReason]int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.counts) == 0 {
		return nil
	}
	return maps.Clone(d.counts)
}

// tell warns about dropped spans, once an hour for each reason. Only the sending goroutine calls
// it, so that warnings come one at a time.
func (d *drops) tell(warn func(format string, args ...any)) {
	d.mu.Lock()
	news := d.news
	d.news = nil
	lost := maps.Clone(d.counts)
	d.mu.Unlock()
	for _, why := range news {
		warn("%d spans have been dropped that were to be sent: %s", lost[why], dropWords[why])
	}
}

// shed drops entries beyond the limits. The caller holds mu.
func (b *Outbox) shed() {
	b.backlog.shed(b.limits.spans, b.opts.Now().Add(-b.limits.age), func(i *item, spans int, why DropReason) {
		b.drop(i.seq, spans, why)
	})
}

// drop counts an entry's spans as lost, and schedules its removal.
func (b *Outbox) drop(seq uint64, spans int, why DropReason) {
	b.removals.add(seq)
	b.drops.count(spans, why, b.opts.Now())
}
