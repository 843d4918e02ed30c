// SPDX-License-Identifier: Apache-2.0

package queue

import "k8s.io/client-go/util/workqueue"

// newPlain builds client-go's queue from its three layers, with a listener between the delaying
// queue and the basic queue.
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

// listener records items when their delay is over.
type listener[T comparable] struct {
	workqueue.TypedInterface[T]
	book *book[T]
}

// Add implements workqueue.TypedInterface. It also receives adds with a delay of 0, which look like the
// end of a longer delay. The next turn then counts both.
func (l *listener[T]) Add(item T) {
	l.book.fire(item)
	l.TypedInterface.Add(item)
}
