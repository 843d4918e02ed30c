// SPDX-License-Identifier: Apache-2.0

// Package queue is a rate-limiting work queue that knows how long its items
// waited and what asked for them.
//
// It wraps client-go's queue, or controller-runtime's priority queue, and takes
// over nothing of what they do: order, delays, deduplication and metrics stay
// theirs. Beside them it keeps, for items that are in the queue or in progress
// only, when an item became due, when it was dequeued and the trace contexts of
// the objects that triggered it. For controllers on plain client-go it also
// makes the spans of a worker loop; see Queue.Begin.
//
// Setting up OpenTelemetry, and reading contexts from objects, is left to others.
package queue

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// MaxTriggers bounds the triggers that are kept for an item.
const MaxTriggers = 8

// Queue is a traced rate-limiting queue. Its methods may be called from several
// goroutines.
type Queue[T comparable] interface {
	workqueue.TypedRateLimitingInterface[T]

	// From returns the queue as seen by an event of one object: whatever is
	// added through it has that object's span context as its trigger. Contexts
	// that are not valid are left out.
	//
	//	q.From(lifeline.Extract(obj)).Add(key)
	//
	// It is a priorityqueue.PriorityQueue if the queue is one, so handlers of
	// controller-runtime take it.
	From(triggers ...trace.SpanContext) workqueue.TypedRateLimitingInterface[T]

	// Wait tells of the item's present turn. It is false before Get and after
	// Done.
	Wait(item T) (Wait, bool)

	// Begin starts work on an item that Get has returned. It makes no span: the
	// Work makes one once there is something to tell. The returned context
	// holds the Work for WorkFrom.
	Begin(ctx context.Context, item T) (context.Context, *Work)
}

// Wait is how one turn of an item came about.
type Wait struct {
	// Due is when the item could have been dequeued at the earliest: when it
	// was added, or when its delay was over. Of several adds it is the earliest.
	// An item that is added while it is in progress is due at once, though it
	// cannot be dequeued before Done.
	Due time.Time
	// Dequeued is when Get returned the item. It is never before Due.
	Dequeued time.Time
	// Adds is how many adds were merged into this turn. It is 0, and Due is
	// Dequeued, if they are not known: see Wrap. That also happens to an add in
	// the instant in which Get returns the item: the turn that begins counts it.
	Adds int
	// Triggers are the distinct contexts that came with the adds, those of
	// the earliest first, at most MaxTriggers. Do not modify it.
	Triggers []trace.SpanContext
	// Dropped is how many more came.
	Dropped int
}

// New returns what workqueue.NewTypedRateLimitingQueueWithConfig returns for
// the same arguments, traced: the name of the queue is the controller's in the
// names of spans, and the clock tells both their time.
func New[T comparable](
	limiter workqueue.TypedRateLimiter[T], config workqueue.TypedRateLimitingQueueConfig[T], opts ...Option,
) Queue[T] {
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	opts = append([]Option{WithController(config.Name), WithClock(config.Clock)}, opts...)
	if config.DelayingQueue != nil {
		return Wrap(workqueue.NewTypedRateLimitingQueueWithConfig(limiter, config), limiter, opts...)
	}
	return newPlain(limiter, config, opts)
}

// Wrap makes a queue that was made elsewhere a traced one. The limiter is the
// one that the queue was made with: from now on the wrapper asks it in the
// queue's place, once for each rate-limited add, so as to know the delay. A nil
// limiter is client-go's default. The result is a priorityqueue.PriorityQueue if
// the queue is one. Use the queue only through the wrapper from then on.
//
// client-go's queue hands out an item twice if it was added both at once and
// for later. In a queue that was made elsewhere the first of these turns counts
// all adds, and of the second nothing is known; New has no such limit.
func Wrap[T comparable](
	inner workqueue.TypedRateLimitingInterface[T], limiter workqueue.TypedRateLimiter[T], opts ...Option,
) Queue[T] {
	if limiter == nil {
		limiter = workqueue.DefaultTypedControllerRateLimiter[T]()
	}
	q := &tracked[T]{inner: inner, direct: inner, limiter: limiter, settings: settle(opts)}
	if priority, ok := inner.(priorityqueue.PriorityQueue[T]); ok {
		q.priority = priority
		q.book.final = true
		return &prioritized[T]{q}
	}
	return q
}
