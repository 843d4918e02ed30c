// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"time"

	"go.opentelemetry.io/otel/trace"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// prioritized is a tracked priority queue. controller-runtime checks for the interface at run time.
// Therefore only a priority queue may implement it.
type prioritized[T comparable] struct{ *tracked[T] }

var _ priorityqueue.PriorityQueue[string] = (*prioritized[string])(nil)

// AddWithOpts implements priorityqueue.PriorityQueue.
func (q *prioritized[T]) AddWithOpts(o priorityqueue.AddOpts, items ...T) {
	q.addWithOpts(o, nil, items)
}

// GetWithPriority implements priorityqueue.PriorityQueue.
func (q *prioritized[T]) GetWithPriority() (T, int, bool) { return q.getWithPriority() }

// prioritizedFrom is from for a priority queue.
type prioritizedFrom[T comparable] struct{ *from[T] }

var _ priorityqueue.PriorityQueue[string] = (*prioritizedFrom[string])(nil)

// AddWithOpts implements priorityqueue.PriorityQueue.
func (f *prioritizedFrom[T]) AddWithOpts(o priorityqueue.AddOpts, items ...T) {
	f.addWithOpts(o, f.triggers, items)
}

// GetWithPriority implements priorityqueue.PriorityQueue.
func (f *prioritizedFrom[T]) GetWithPriority() (T, int, bool) { return f.getWithPriority() }

func (q *tracked[T]) getWithPriority() (T, int, bool) {
	item, priority, shutdown := q.priority.GetWithPriority()
	q.got(item, shutdown)
	return item, priority, shutdown
}

func (q *tracked[T]) addWithOpts(o priorityqueue.AddOpts, triggers []trace.SpanContext, items []T) {
	now := q.clock.Now()
	if !o.RateLimited {
		for _, item := range items {
			q.book.add(item, now, o.After, triggers)
		}
		q.priority.AddWithOpts(o, items...)
		return
	}
	for _, item := range items {
		after := shorter(o.After, q.limiter.When(item))
		q.book.add(item, now, after, triggers)
		q.priority.AddWithOpts(priorityqueue.AddOpts{After: after, Priority: o.Priority}, item)
	}
}

// shorter combines a requested delay with the rate limiter's, like the priority queue. A requested
// delay of 0 means none.
func shorter(asked, limited time.Duration) time.Duration {
	if asked == 0 || limited < asked {
		return limited
	}
	return asked
}
