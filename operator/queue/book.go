// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// large is the size from which an emptied map is given back: Go's maps never
// shrink.
const large = 1024

// book keeps what is known of the items that are in the queue or in progress.
// Whatever is noted is answered by a turn that follows: the queue hears of it
// after the book does. The zero value is ready.
type book[T comparable] struct {
	// fires is whether the book is told when a delay is over. If so it knows
	// turns that are in the queue from those that are not: client-go's queue has
	// both for an item that was added at once and for later. If not, the next
	// turn answers all adds, as is right for a priority queue, which has an item
	// once.
	fires bool
	// final is whether nothing is handed out after ShutDown.
	final bool

	mu      sync.Mutex
	closed  bool
	entries map[T]*entry
	peak    int // the size that entries once had
}

// entry is one item. One that holds nothing is deleted.
type entry struct {
	ready asked  // what the next turn answers
	later *asked // what asked for a turn that is not in the queue yet; nil if nothing did
	turn  *Wait  // the turn in progress; nil if none is
}

// asked is the sum of the adds that one turn answers. The zero value is none.
type asked struct {
	due    time.Time
	adds   int
	causes *causes // nil if no add named any
}

type causes struct {
	contexts []trace.SpanContext
	dropped  int
}

// add notes that the item was asked for.
func (b *book[T]) add(item T, now time.Time, after time.Duration, triggers []trace.SpanContext) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return // the queue does not take it either
	}
	e := b.entry(item)
	if after <= 0 || !b.fires {
		e.ready.add(now.Add(max(after, 0)), triggers)
		return
	}
	if e.later == nil {
		e.later = &asked{}
	}
	e.later.add(now.Add(after), triggers)
}

// fire notes that the item's delay is over.
func (b *book[T]) fire(item T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.entries[item]; e != nil && e.later != nil {
		e.ready.absorb(e.later)
		e.later = nil
	}
}

// take begins a turn.
func (b *book[T]) take(item T, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entry(item)
	turn := &Wait{Due: e.ready.due, Dequeued: now, Adds: e.ready.adds}
	if turn.Adds == 0 || turn.Due.After(now) {
		turn.Due = now
	}
	if c := e.ready.causes; c != nil {
		turn.Triggers, turn.Dropped = c.contexts, c.dropped
	}
	e.ready, e.turn = asked{}, turn
}

// turn returns the turn in progress.
func (b *book[T]) turn(item T) (Wait, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.entries[item]; e != nil && e.turn != nil {
		return *e.turn, true
	}
	return Wait{}, false
}

// done ends a turn.
func (b *book[T]) done(item T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.entries[item]; e != nil {
		e.turn = nil
		b.tidy(item, e)
	}
}

// shut takes no more adds and forgets turns that will never be.
func (b *book[T]) shut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for item, e := range b.entries {
		if b.final {
			e.ready = asked{}
		}
		e.later = nil
		b.tidy(item, e)
	}
}

// drained forgets what has not begun, except for items in progress: they go
// back into the queue with Done if they were asked for again.
func (b *book[T]) drained() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for item, e := range b.entries {
		if e.turn == nil {
			e.ready, e.later = asked{}, nil
			b.tidy(item, e)
		}
	}
}

func (b *book[T]) size() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.entries)
}

func (b *book[T]) entry(item T) *entry {
	e := b.entries[item]
	if e == nil {
		e = &entry{}
		if b.entries == nil {
			b.entries = map[T]*entry{}
		}
		b.entries[item] = e
		b.peak = max(b.peak, len(b.entries))
	}
	return e
}

func (b *book[T]) tidy(item T, e *entry) {
	if e.turn != nil || e.later != nil || e.ready.adds > 0 {
		return
	}
	delete(b.entries, item)
	if len(b.entries) == 0 && b.peak >= large {
		b.entries, b.peak = nil, 0
	}
}

func (a *asked) add(due time.Time, triggers []trace.SpanContext) {
	if a.adds == 0 || due.Before(a.due) {
		a.due = due
	}
	a.adds++
	if len(triggers) > 0 {
		a.cause(triggers, 0)
	}
}

// absorb adds up; the triggers of what was due first come first.
func (a *asked) absorb(other *asked) {
	first, second := *other, *a
	if second.adds > 0 && second.due.Before(first.due) {
		first, second = second, first
	}
	first.adds += second.adds
	if c := second.causes; c != nil {
		first.cause(c.contexts, c.dropped)
	}
	*a = first
}

func (a *asked) cause(contexts []trace.SpanContext, dropped int) {
	if a.causes == nil {
		a.causes = &causes{}
	}
	a.causes.dropped += dropped
	for _, sc := range contexts {
		a.causes.add(sc)
	}
}

func (c *causes) add(sc trace.SpanContext) {
	for _, have := range c.contexts {
		if same(have, sc) {
			return
		}
	}
	if len(c.contexts) == MaxTriggers {
		c.dropped++
		return
	}
	c.contexts = append(c.contexts, sc)
}

func same(a, b trace.SpanContext) bool {
	return a.SpanID() == b.SpanID() && a.TraceID() == b.TraceID()
}
