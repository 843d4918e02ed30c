// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-lifeline/lifeline"
)

// witness returns a predicate that passes every event and records it as a trigger of its requests.
// It runs after the user's predicates, so it gets only the events that they pass. Repeated events
// of a start or a resync are not triggers (L7).
func (b *Builder) witness(requests func(client.Object) []reconcile.Request) predicate.Predicate {
	note := func(o client.Object, stored bool) bool {
		if o != nil && b.kit.mode() != Off {
			for _, req := range requests(o) {
				b.kit.trigger(b.name, req, o, stored)
			}
		}
		return true
	}
	return predicate.Funcs{
		CreateFunc:  func(e event.CreateEvent) bool { return e.IsInInitialList || note(e.Object, true) },
		UpdateFunc:  func(e event.UpdateEvent) bool { return resync(e) || note(e.ObjectNew, true) },
		DeleteFunc:  func(e event.DeleteEvent) bool { return note(e.Object, false) },
		GenericFunc: func(e event.GenericEvent) bool { return note(e.Object, false) },
	}
}

// resync reports whether an update has no new version.
func resync(e event.UpdateEvent) bool {
	return e.ObjectOld != nil && e.ObjectNew != nil && e.ObjectNew.GetResourceVersion() != "" &&
		e.ObjectOld.GetResourceVersion() == e.ObjectNew.GetResourceVersion()
}

// trigger records o as the cause of a request. stored means that the event is about the write of
// this version. Other events have no write time on the object.
func (k *Kit) trigger(controller string, req reconcile.Request, o client.Object, stored bool) {
	t := trigger{context: lifeline.Extract(o), at: k.clock.Now()}
	if stored {
		t.stored = k.storing(o)
	}
	k.triggers.add(triggerKey{controller, req}, t)
}

// listen decorates a handler so that its requests are recorded with the object of their event.
func (b *Builder) listen(h handler.EventHandler) handler.EventHandler { return &listener{h, b} }

type listener struct {
	inner   handler.EventHandler
	builder *Builder
}

func (l *listener) Create(ctx context.Context, e event.CreateEvent, q requestQueue) {
	if !e.IsInInitialList {
		q = l.note(e.Object, true, q)
	}
	l.inner.Create(ctx, e, q)
}

func (l *listener) Update(ctx context.Context, e event.UpdateEvent, q requestQueue) {
	if !resync(e) {
		q = l.note(e.ObjectNew, true, q)
	}
	l.inner.Update(ctx, e, q)
}

func (l *listener) Delete(ctx context.Context, e event.DeleteEvent, q requestQueue) {
	l.inner.Delete(ctx, e, l.note(e.Object, false, q))
}

func (l *listener) Generic(ctx context.Context, e event.GenericEvent, q requestQueue) {
	l.inner.Generic(ctx, e, l.note(e.Object, false, q))
}

// note returns q, which then records o as the trigger of added requests.
func (l *listener) note(o client.Object, stored bool, q requestQueue) requestQueue {
	if o == nil || l.builder.kit.mode() == Off {
		return q
	}
	n := notingQueue{requestQueue: q, note: func(req reconcile.Request) {
		l.builder.kit.trigger(l.builder.name, req, o, stored)
	}}
	if p, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		return &notingPriorityQueue{notingQueue: n, priority: p}
	}
	return &n
}

// notingQueue calls note for each request before adding it.
type notingQueue struct {
	requestQueue
	note func(reconcile.Request)
}

func (n *notingQueue) Add(req reconcile.Request) {
	n.note(req)
	n.requestQueue.Add(req)
}

func (n *notingQueue) AddAfter(req reconcile.Request, d time.Duration) {
	n.note(req)
	n.requestQueue.AddAfter(req, d)
}

func (n *notingQueue) AddRateLimited(req reconcile.Request) {
	n.note(req)
	n.requestQueue.AddRateLimited(req)
}

// notingPriorityQueue is a notingQueue for a priority queue.
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
