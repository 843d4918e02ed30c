// SPDX-License-Identifier: Apache-2.0

package queue_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kube-lifeline/lifeline/operator/queue"
)

// TestController runs a controller of controller-runtime on either kind of queue. It must recognize
// the priority queue, and its reconciler must be able to get the wait.
func TestController(t *testing.T) {
	type limiter = workqueue.TypedRateLimiter[reconcile.Request]
	type rateLimiting = workqueue.TypedRateLimitingInterface[reconcile.Request]
	cases := map[string]func(name string, l limiter) rateLimiting{
		"Plain": func(_ string, l limiter) rateLimiting {
			return workqueue.NewTypedRateLimitingQueue(l)
		},
		"Priority": func(name string, l limiter) rateLimiting {
			return priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) { o.RateLimiter = l })
		},
	}
	for name, inner := range cases {
		t.Run(name, func(t *testing.T) {
			var q queue.Queue[reconcile.Request]
			waits := make(chan queue.Wait, 3)
			c, err := controller.NewUnmanaged("head-"+name, controller.Options{
				NewQueue: func(name string, l limiter) rateLimiting {
					q = queue.Wrap(inner(name, l), l)
					return q
				},
				Reconciler: reconcile.Func(func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
					wait, ok := q.Wait(req)
					if !ok {
						t.Errorf("no wait is recorded for %s", req)
					}
					waits <- wait
					return reconcile.Result{RequeueAfter: time.Millisecond}, nil
				}),
				SkipNameValidation: new(true), // the test may run again
				LogConstructor:     func(*reconcile.Request) logr.Logger { return logr.Discard() },
			})
			if err != nil {
				t.Fatal(err)
			}
			req := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: "a"}}
			err = c.Watch(
				source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
					q.(priorityqueue.PriorityQueue[reconcile.Request]).AddWithOpts(priorityqueue.AddOpts{}, req)
					return nil
				}),
			)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- c.Start(ctx) }()
			for range 3 {
				if wait := <-waits; wait.Adds != 1 || wait.Due.After(wait.Dequeued) {
					t.Errorf("wait = %+v", wait)
				}
			}
			cancel()
			for done := false; !done; {
				select {
				case <-waits: // one more turn may have begun
				case err := <-ended:
					done = true
					if err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
}
