// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// large is the size at which an emptied map is replaced, because Go's maps never shrink.
const large = 1024

// book records the items in the queue or in progress. Each recorded add belongs to a later turn,
// because the queue receives the add after the book. The zero value is ready for use.
type book[T comparable] struct {
	// fires means that fire is called at the end of each delay. The book can then separate turns in
	// the queue from delayed ones, since client-go's queue can have both for one item. Without
	// fires, the next turn includes all adds. That is correct for a priority queue, where an item
	// has one entry.
	fires bool
	// final means that the queue returns no items after ShutDown.
	final bool

	mu      sync.Mutex
	closed  bool
	entries map[T]*entry
	peak    int // maximum size of entries
}

// entry is one item. An empty entry is deleted.
type entry struct {
	ready asked  // adds for the next turn
	later *asked // delayed adds, not in the queue yet; nil if none
	turn  *Wait  // the turn in progress; nil if none
}

// asked is the sum of the adds for one turn. The zero value means none.
type asked struct {
	due    time.Time
	adds   int
	causes *causes // nil if no add had triggers
}

type causes struct {
	contexts []trace.SpanContext
	dropped  int
}

// add records an add of the item.
func (b *book[T]) add(item T, now time.Time, after time.Duration, triggers []trace.SpanContext) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return // the queue also ignores it
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

// fire records the end of the item's delay.
func (b *book[T]) fire(item T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.entries[item]; e != nil && e.later != nil {
		e.ready.absorb(e.later)
		e.later = nil
	}
}

// take starts a turn.
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

// shut ends adds and removes turns that will never start.
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

// drained removes turns that have not started. Items in progress stay: Done puts them back into the
// queue if they were added again.
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

// absorb merges two sums; the triggers of the earlier due time come first.
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
