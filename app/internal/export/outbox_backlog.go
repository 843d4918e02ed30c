// SPDX-License-Identifier: Apache-2.0

package export

import (
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// backlog is what waits to be sent, oldest first: head, whose spans are being
// read or were, and then queue.
type backlog struct {
	head  []loaded
	queue []item
	// spans is how many wait in both.
	spans int
	// busy: the head is being read or uploaded, and nothing of it may go.
	busy bool
}

// loaded is an item, and what is left of it to send once it was read.
type loaded struct {
	item
	read bool
	left []*span.Span
}

// waiting is how many spans of the item wait.
func (l *loaded) waiting() int {
	if l.read {
		return len(l.left)
	}
	return l.Spans
}

// add puts items at the end.
func (b *backlog) add(items ...item) {
	for i := range items {
		b.spans += items[i].Spans
	}
	b.queue = append(b.queue, items...)
}

// advance moves the oldest item of the queue to the head; false if there is
// none.
func (b *backlog) advance() bool {
	if len(b.queue) == 0 {
		return false
	}
	b.head = append(b.head, loaded{item: b.queue[0]})
	b.queue[0] = item{} // the array may live on
	if b.queue = b.queue[1:]; len(b.queue) == 0 {
		b.queue = nil
	}
	return true
}

// fill gives the i-th of the head the spans that were read.
func (b *backlog) fill(i int, spans []*span.Span) {
	h := &b.head[i]
	b.spans += len(spans) - h.waiting()
	h.read, h.left = true, spans
}

// remove takes the i-th off the head.
func (b *backlog) remove(i int) loaded {
	out := b.head[i]
	b.spans -= out.waiting()
	b.head = slices.Delete(b.head, i, i+1)
	return out
}

// next returns up to so many spans of the head, oldest first.
func (b *backlog) next(most int) []*span.Span {
	var out []*span.Span
	for i := range b.head {
		out = append(out, b.head[i].left[:min(len(b.head[i].left), most-len(out))]...)
	}
	return out
}

// consume takes the first n spans off the head, which were read, and returns
// the names of the items of which nothing is left.
func (b *backlog) consume(n int) []string {
	var done []string
	b.spans -= n
	for i := range b.head {
		h := &b.head[i]
		k := min(n, len(h.left))
		if h.left, n = h.left[k:], n-k; len(h.left) > 0 || !h.read {
			break
		}
		done = append(done, h.name())
	}
	b.head = slices.Delete(b.head, 0, len(done))
	return done
}

// shed takes off what must go, oldest first, while too much waits or the oldest
// was queued before the given time. Each is told with the number of its spans.
func (b *backlog) shed(most int, before time.Time, gone func(i *item, spans int, why DropReason)) {
	reason := func(i *item) DropReason {
		switch {
		case i.Queued.Before(before):
			return DroppedAge
		case b.spans > most:
			return DroppedFull
		}
		return ""
	}
	for !b.busy && len(b.head) > 0 {
		why := reason(&b.head[0].item)
		if why == "" {
			return
		}
		old := b.remove(0)
		gone(&old.item, old.waiting(), why)
	}
	n := 0
	for ; n < len(b.queue); n++ {
		i := &b.queue[n]
		why := reason(i)
		if why == "" {
			break
		}
		b.spans -= i.Spans
		gone(i, i.Spans, why)
	}
	clear(b.queue[:n])
	if b.queue = b.queue[n:]; len(b.queue) == 0 {
		b.queue = nil
	}
}

// forget takes off what was queued before the given time.
func (b *backlog) forget(before time.Time, gone func(i *item)) {
	for i := len(b.head) - 1; i >= 0 && !b.busy; i-- {
		if b.head[i].Queued.Before(before) {
			old := b.remove(i)
			gone(&old.item)
		}
	}
	b.queue = slices.DeleteFunc(b.queue, func(i item) bool {
		if !i.Queued.Before(before) {
			return false
		}
		b.spans -= i.Spans
		gone(&i)
		return true
	})
}

// oldest is when the first of what waits was queued; zero if nothing does.
func (b *backlog) oldest() time.Time {
	var out time.Time
	for i := range b.head {
		out = earlier(out, b.head[i].Queued)
	}
	for i := range b.queue {
		out = earlier(out, b.queue[i].Queued)
	}
	return out
}

// earlier is the earlier of two times, of which zero is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
