// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// tracked records the turns of a queue. It records each add before the queue receives it, so no
// turn begins before its add is recorded.
type tracked[T comparable] struct {
	inner    workqueue.TypedRateLimitingInterface[T]
	direct   workqueue.TypedInterface[T]    // target of an add without delay
	priority priorityqueue.PriorityQueue[T] // inner, if it is a priority queue
	limiter  workqueue.TypedRateLimiter[T]
	settings
	book book[T]
}

// Add implements workqueue.TypedRateLimitingInterface.
func (q *tracked[T]) Add(item T) { q.add(item, nil) }

// AddAfter implements workqueue.TypedRateLimitingInterface.
func (q *tracked[T]) AddAfter(item T, after time.Duration) { q.addAfter(item, after, nil) }

// AddRateLimited implements workqueue.TypedRateLimitingInterface.
func (q *tracked[T]) AddRateLimited(item T) { q.addAfter(item, q.limiter.When(item), nil) }

// Forget clears the rate limiter. The item's turn continues until Done.
func (q *tracked[T]) Forget(item T) { q.limiter.Forget(item) }

// NumRequeues implements workqueue.TypedRateLimitingInterface.
func (q *tracked[T]) NumRequeues(item T) int { return q.limiter.NumRequeues(item) }

// Get implements workqueue.TypedRateLimitingInterface.
func (q *tracked[T]) Get() (T, bool) {
	item, shutdown := q.inner.Get()
	q.got(item, shutdown)
	return item, shutdown
}

// Done implements workqueue.TypedRateLimitingInterface.
func (q *tracked[T]) Done(item T) {
	q.book.done(item) // before another worker can get the item
	q.inner.Done(item)
}

// Len implements workqueue.TypedRateLimitingInterface.
func (q *tracked[T]) Len() int { return q.inner.Len() }

// ShutDown implements workqueue.TypedRateLimitingInterface.
func (q *tracked[T]) ShutDown() {
	q.book.shut()
	q.inner.ShutDown()
}

// ShutDownWithDrain implements workqueue.TypedRateLimitingInterface.
func (q *tracked[T]) ShutDownWithDrain() {
	q.book.shut()
	q.inner.ShutDownWithDrain()
}

// ShuttingDown implements workqueue.TypedRateLimitingInterface.
func (q *tracked[T]) ShuttingDown() bool { return q.inner.ShuttingDown() }

// Wait implements Queue.
func (q *tracked[T]) Wait(item T) (Wait, bool) { return q.book.turn(item) }

// From implements Queue.
func (q *tracked[T]) From(triggers ...trace.SpanContext) workqueue.TypedRateLimitingInterface[T] {
	valid := slices.DeleteFunc(slices.Clone(triggers), func(sc trace.SpanContext) bool { return !sc.IsValid() })
	v := &from[T]{tracked: q, triggers: valid}
	if q.priority != nil {
		return &prioritizedFrom[T]{v}
	}
	return v
}

func (q *tracked[T]) add(item T, triggers []trace.SpanContext) {
	q.book.add(item, q.clock.Now(), 0, triggers)
	q.direct.Add(item)
}

func (q *tracked[T]) addAfter(item T, after time.Duration, triggers []trace.SpanContext) {
	q.book.add(item, q.clock.Now(), after, triggers)
	q.inner.AddAfter(item, after)
}

func (q *tracked[T]) got(item T, shutdown bool) {
	if shutdown {
		q.book.drained()
		return
	}
	q.book.take(item, q.clock.Now())
}

// from is a view of the queue with fixed triggers for its adds.
type from[T comparable] struct {
	*tracked[T]
	triggers []trace.SpanContext
}

// Add implements workqueue.TypedRateLimitingInterface.
func (f *from[T]) Add(item T) { f.add(item, f.triggers) }

// AddAfter implements workqueue.TypedRateLimitingInterface.
func (f *from[T]) AddAfter(item T, after time.Duration) { f.addAfter(item, after, f.triggers) }

// AddRateLimited implements workqueue.TypedRateLimitingInterface.
func (f *from[T]) AddRateLimited(item T) { f.addAfter(item, f.limiter.When(item), f.triggers) }
