// SPDX-License-Identifier: Apache-2.0

package export

import (
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// item is an entry of the log.
type item struct {
	seq    uint64
	spans  int
	queued time.Time
}

// backlog holds the waiting entries, oldest first. Entries in head have their spans read or being
// read; those in queue come after them.
type backlog struct {
	head  []loaded
	queue []item
	// spans counts the waiting spans in both.
	spans int
	// request is the number of spans in the last request, if it had no answer; otherwise 0.
	request int
	// busy: the head is being read or uploaded, and must not be changed.
	busy bool
}

// loaded is an item and, once it is read, its unsent spans.
type loaded struct {
	item
	read bool
	left []*span.Span
}

// waiting returns the number of the item's waiting spans.
func (l *loaded) waiting() int {
	if l.read {
		return len(l.left)
	}
	return l.spans
}

// add appends items.
func (b *backlog) add(items ...item) {
	for i := range items {
		b.spans += items[i].spans
	}
	b.queue = append(b.queue, items...)
}

// advance moves the oldest item of the queue to the head. It returns false if there is none.
func (b *backlog) advance() bool {
	if len(b.queue) == 0 {
		return false
	}
	b.head = append(b.head, loaded{item: b.queue[0]})
	if b.queue = b.queue[1:]; len(b.queue) == 0 {
		b.queue = nil
	}
	return true
}

// fill sets the spans that were read for item i of the head.
func (b *backlog) fill(i int, spans []*span.Span) {
	h := &b.head[i]
	b.spans += len(spans) - h.waiting()
	h.read, h.left = true, spans
}

// remove removes item i from the head.
func (b *backlog) remove(i int) loaded {
	out := b.head[i]
	b.request = 0
	b.spans -= out.waiting()
	b.head = slices.Delete(b.head, i, i+1)
	return out
}

// next returns up to most spans of the head, oldest first.
func (b *backlog) next(most int) []*span.Span {
	var out []*span.Span
	for i := range b.head {
		out = append(out, b.head[i].left[:min(len(b.head[i].left), most-len(out))]...)
	}
	return out
}

// consume removes the first n spans from the head, and returns the numbers of the items without
// spans left.
func (b *backlog) consume(n int) []uint64 {
	var done []uint64
	b.request = 0
	b.spans -= n
	for i := range b.head {
		h := &b.head[i]
		k := min(n, len(h.left))
		if h.left, n = h.left[k:], n-k; len(h.left) > 0 || !h.read {
			break
		}
		done = append(done, h.seq)
	}
	b.head = slices.Delete(b.head, 0, len(done))
	return done
}

// shed removes the oldest items while there are more than most spans, or while the oldest was
// queued before the given time. It calls gone for each, with the number of its spans.
func (b *backlog) shed(most int, before time.Time, gone func(i *item, spans int, why DropReason)) {
	reason := func(i *item) DropReason {
		switch {
		case i.queued.Before(before):
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
		b.spans -= i.spans
		gone(i, i.spans, why)
	}
	if b.queue = b.queue[n:]; len(b.queue) == 0 {
		b.queue = nil
	}
}

// forget removes the items that which selects, except from a busy head. It calls gone for each.
func (b *backlog) forget(which func(*item) bool, gone func(*item)) {
	for i := len(b.head) - 1; i >= 0 && !b.busy; i-- {
		if which(&b.head[i].item) {
			old := b.remove(i)
			gone(&old.item)
		}
	}
	b.queue = slices.DeleteFunc(b.queue, func(i item) bool {
		if !which(&i) {
			return false
		}
		b.spans -= i.spans
		gone(&i)
		return true
	})
}

// oldest returns the queue time of the oldest waiting item; zero if none waits.
func (b *backlog) oldest() time.Time {
	var out time.Time
	for i := range b.head {
		out = earlier(out, b.head[i].queued)
	}
	for i := range b.queue {
		out = earlier(out, b.queue[i].queued)
	}
	return out
}

// earlier returns the earlier of two times; zero means none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
