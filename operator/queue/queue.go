// SPDX-License-Identifier: Apache-2.0

// Package queue is a rate-limiting work queue that records the waiting time and the triggers of its
// items.
//
// It wraps client-go's queue, or controller-runtime's priority queue. The wrapped queue still
// handles order, delays, deduplication and metrics. For items in the queue or in progress, the
// package records the due time, the dequeue time and the trace contexts of the triggering objects.
// For controllers on plain client-go, it also makes the spans of a worker loop; see Queue.Begin.
//
// The package does not set up OpenTelemetry and does not read contexts from objects.
package queue

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// MaxTriggers limits the stored triggers of an item.
const MaxTriggers = 8

// Queue is a traced rate-limiting queue. Its methods are safe for concurrent use.
type Queue[T comparable] interface {
	workqueue.TypedRateLimitingInterface[T]

	// From returns a view of the queue for an event of one object. Items added through it have that
	// object's span context as their trigger. Invalid contexts are ignored.
	//
	//	q.From(lifeline.Extract(obj)).Add(key)
	//
	// It is a priorityqueue.PriorityQueue if the queue is one, so it fits handlers of
	// controller-runtime.
	From(triggers ...trace.SpanContext) workqueue.TypedRateLimitingInterface[T]

	// Wait returns the wait of the item's current turn. It returns false before Get and after Done.
	Wait(item T) (Wait, bool)

	// Begin starts work on an item from Get. It makes no span; the Work makes one at the first
	// write or failure. The returned context holds the Work for WorkFrom.
	Begin(ctx context.Context, item T) (context.Context, *Work)
}

// Wait describes the time before one turn of an item.
type Wait struct {
	// Due is the earliest possible dequeue time: when the item was added, or when its delay was
	// over. For several adds it is the earliest. An item added while it is in progress is due at
	// once, although it cannot be dequeued before Done.
	Due time.Time
	// Dequeued is the time when Get returned the item. It is never before Due.
	Dequeued time.Time
	// Adds is the number of adds merged into this turn. If the adds are unknown, it is 0, and Due
	// equals Dequeued; see Wrap. That can also happen to an add at the instant when Get returns the
	// item. The turn that Get begins then counts that add.
	Adds int
	// Triggers are the distinct contexts of the adds, earliest first, at most MaxTriggers. Do not
	// modify it.
	Triggers []trace.SpanContext
	// Dropped is the number of further contexts.
	Dropped int
}

// New is a traced workqueue.NewTypedRateLimitingQueueWithConfig. The name of the queue is the
// controller's name in span names. The configured clock also times the spans.
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

// Wrap returns a traced queue around an existing one. limiter is the limiter of that queue. The
// wrapper calls it in the queue's place, once per rate-limited add, to get the delay. A nil limiter
// means client-go's default. The result is a priorityqueue.PriorityQueue if the queue is one. After
// Wrap, use the queue only through the wrapper.
//
// client-go's queue returns an item twice if it was added both at once and with a delay. In a
// wrapped queue, the first of these turns counts all adds, and the second has no data. New has no
// such limit.
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
