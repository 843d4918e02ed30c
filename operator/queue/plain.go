// SPDX-License-Identifier: Apache-2.0

package queue

import "k8s.io/client-go/util/workqueue"

// newPlain builds client-go's queue as client-go does, in its three layers, but
// for a listener between the one that delays and the one that queues.
func newPlain[T comparable](
	limiter workqueue.TypedRateLimiter[T], config workqueue.TypedRateLimitingQueueConfig[T], opts []Option,
) Queue[T] {
	if limiter == nil {
		limiter = workqueue.DefaultTypedControllerRateLimiter[T]()
	}
	q := &tracked[T]{limiter: limiter, settings: settle(opts)}
	q.book.fires = true
	q.direct = workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[T]{
		Name: config.Name, MetricsProvider: config.MetricsProvider, Clock: config.Clock,
	})
	config.DelayingQueue = workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[T]{
		Name: config.Name, MetricsProvider: config.MetricsProvider, Clock: config.Clock,
		Queue: &listener[T]{TypedInterface: q.direct, book: &q.book},
	})
	q.inner = workqueue.NewTypedRateLimitingQueueWithConfig(limiter, config)
	return q
}

// listener hears of the items whose delay is over.
type listener[T comparable] struct {
	workqueue.TypedInterface[T]
	book *book[T]
}

// Add is workqueue's. An add with a delay of nothing comes here, too, and may be
// taken for the end of a longer one: the turn that follows then counts both.
func (l *listener[T]) Add(item T) {
	l.book.fire(item)
	l.TypedInterface.Add(item)
}
