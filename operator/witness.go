// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-lifeline/lifeline"
)

// witness is a predicate that lets everything pass and notes it as a trigger of
// the request that it leads to. It stands last, so it sees what the user's own
// predicates let pass.
func (b *Builder) witness(request func(client.Object) (reconcile.Request, bool)) predicate.Predicate {
	note := func(o client.Object) bool {
		if o != nil && b.kit.mode() != Off {
			if req, ok := request(o); ok {
				b.kit.triggers.add(triggerKey{b.name, req}, trigger{o, lifeline.Extract(o), b.kit.clock.Now()})
			}
		}
		return true
	}
	return predicate.Funcs{
		CreateFunc:  func(e event.CreateEvent) bool { return note(e.Object) },
		UpdateFunc:  func(e event.UpdateEvent) bool { return note(e.ObjectNew) },
		DeleteFunc:  func(e event.DeleteEvent) bool { return note(e.Object) },
		GenericFunc: func(e event.GenericEvent) bool { return note(e.Object) },
	}
}

// listen decorates a handler so that what it enqueues is noted with the object
// that made it do so.
func (b *Builder) listen(h handler.EventHandler) handler.EventHandler { return &listener{h, b} }

type listener struct {
	inner   handler.EventHandler
	builder *Builder
}

type limitingQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

func (l *listener) Create(ctx context.Context, e event.CreateEvent, q limitingQueue) {
	l.inner.Create(ctx, e, l.note(e.Object, q))
}

func (l *listener) Update(ctx context.Context, e event.UpdateEvent, q limitingQueue) {
	l.inner.Update(ctx, e, l.note(e.ObjectNew, q))
}

func (l *listener) Delete(ctx context.Context, e event.DeleteEvent, q limitingQueue) {
	l.inner.Delete(ctx, e, l.note(e.Object, q))
}

func (l *listener) Generic(ctx context.Context, e event.GenericEvent, q limitingQueue) {
	l.inner.Generic(ctx, e, l.note(e.Object, q))
}

// note returns q, made to note o as the trigger of what is added to it.
func (l *listener) note(o client.Object, q limitingQueue) limitingQueue {
	if o == nil || l.builder.kit.mode() == Off {
		return q
	}
	n := notingQueue{limitingQueue: q, note: func(req reconcile.Request) {
		k := l.builder.kit
		k.triggers.add(triggerKey{l.builder.name, req}, trigger{o, lifeline.Extract(o), k.clock.Now()})
	}}
	if p, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		return &notingPriorityQueue{notingQueue: n, priority: p}
	}
	return &n
}

// notingQueue tells of each request before it is added.
type notingQueue struct {
	limitingQueue
	note func(reconcile.Request)
}

func (n *notingQueue) Add(req reconcile.Request) {
	n.note(req)
	n.limitingQueue.Add(req)
}

func (n *notingQueue) AddAfter(req reconcile.Request, d time.Duration) {
	n.note(req)
	n.limitingQueue.AddAfter(req, d)
}

func (n *notingQueue) AddRateLimited(req reconcile.Request) {
	n.note(req)
	n.limitingQueue.AddRateLimited(req)
}

// notingPriorityQueue is one that event handlers can give priorities to.
type notingPriorityQueue struct {
	notingQueue
	priority priorityqueue.PriorityQueue[reconcile.Request]
}

func (n *notingPriorityQueue) AddWithOpts(o priorityqueue.AddOpts, reqs ...reconcile.Request) {
	for _, req := range reqs {
		n.note(req)
	}
	n.priority.AddWithOpts(o, reqs...)
}

func (n *notingPriorityQueue) GetWithPriority() (reconcile.Request, int, bool) {
	return n.priority.GetWithPriority()
}
