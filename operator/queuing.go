// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"sync/atomic"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-lifeline/lifeline/operator/queue"
)

type requestQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

type requestLimiter = workqueue.TypedRateLimiter[reconcile.Request]

// tracedQueue is the queue of one controller. controller-runtime creates it when the controller
// starts.
type tracedQueue struct {
	made atomic.Pointer[queue.Queue[reconcile.Request]]
	kit  *Kit
}

// maker returns controller-runtime's default NewQueue for o, with measured waiting times.
func (t *tracedQueue) maker(o controller.Options) func(string, requestLimiter) requestQueue {
	plain := func(name string, limiter requestLimiter) requestQueue {
		if ptr.Deref(o.UsePriorityQueue, true) {
			return priorityqueue.New(name, func(po *priorityqueue.Opts[reconcile.Request]) {
				po.Log = o.Logger.WithValues("controller", name)
				po.RateLimiter = limiter
			})
		}
		return workqueue.NewTypedRateLimitingQueueWithConfig(
			limiter,
			workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{Name: name},
		)
	}
	return func(name string, limiter requestLimiter) requestQueue {
		q := queue.Wrap(plain(name, limiter), limiter, queue.WithClock(t.kit.clock), queue.WithController(name),
			queue.WithTracerProvider(t.kit.provider))
		t.made.Store(&q)
		return q
	}
}

// wait returns the waiting time of a request in progress.
func (t *tracedQueue) wait(req reconcile.Request) (queue.Wait, bool) {
	q := t.made.Load()
	if q == nil {
		return queue.Wait{}, false
	}
	return (*q).Wait(req)
}
