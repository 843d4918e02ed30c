// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// kinds are the kinds of queues.
var kinds = map[string]func(workqueue.TypedRateLimiter[string]) Queue[string]{
	"plain": func(l workqueue.TypedRateLimiter[string]) Queue[string] {
		return New(l, workqueue.TypedRateLimitingQueueConfig[string]{})
	},
	"foreign": func(l workqueue.TypedRateLimiter[string]) Queue[string] {
		return Wrap(workqueue.NewTypedRateLimitingQueue(l), l)
	},
	"priority": func(l workqueue.TypedRateLimiter[string]) Queue[string] {
		return Wrap(barePriority(l), l)
	},
}

func barePriority(l workqueue.TypedRateLimiter[string]) priorityqueue.PriorityQueue[string] {
	return priorityqueue.New("", func(o *priorityqueue.Opts[string]) { o.RateLimiter = l })
}

// fixed is a rate limiter with a constant delay. It counts its calls.
type fixed struct {
	delay time.Duration

	mu        sync.Mutex
	asked     int
	forgotten int
}

func (f *fixed) When(string) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	return f.delay
}

func (f *fixed) Forget(string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forgotten++
}

func (f *fixed) NumRequeues(string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked
}

// turn is a Wait in a table. Times are relative to the start of the test.
type turn struct {
	Due, Dequeued time.Duration
	Adds          int
}

// trial runs one queue with the fake time of synctest.
type trial struct {
	t     *testing.T
	q     Queue[string]
	begun time.Time
	turns []turn
}

// pass advances the fake time and waits for the due events.
func (r *trial) pass(d time.Duration) {
	time.Sleep(d) // fake time
	synctest.Wait()
}

// get takes the next item and records its wait.
func (r *trial) get() string {
	synctest.Wait()
	item, shutdown := r.q.Get()
	if shutdown {
		r.t.Fatal("Get: the queue is shut down")
	}
	wait, ok := r.q.Wait(item)
	if !ok {
		r.t.Fatalf("no wait is recorded for %q between Get and Done", item)
	}
	r.turns = append(r.turns, turn{wait.Due.Sub(r.begun), wait.Dequeued.Sub(r.begun), wait.Adds})
	return item
}

// work is get followed by Done.
func (r *trial) work() {
	item := r.get()
	r.q.Done(item)
	if _, ok := r.q.Wait(item); ok {
		r.t.Errorf("a wait is still recorded for %q after Done", item)
	}
}

// bookOf returns the book of a queue.
func bookOf(q Queue[string]) *book[string] {
	if p, ok := q.(*prioritized[string]); ok {
		return &p.book
	}
	return &q.(*tracked[string]).book
}

func spanContext(n byte) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID:    trace.TraceID{1, 15: n},
		SpanID:     trace.SpanID{2, 7: n},
		TraceFlags: trace.FlagsSampled,
	})
}
