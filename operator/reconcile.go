// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-lifeline/lifeline/operator/internal/planned"
	"github.com/kube-lifeline/lifeline/operator/queue"
)

// reconciler is a Reconciler with tracing.
type reconciler struct {
	kit   *Kit
	inner reconcile.Reconciler
	name  string // of the controller
	span  string
	kind  schema.GroupVersionKind
	wait  func(reconcile.Request) (queue.Wait, bool)
}

// Reconcile runs the inner reconciler as a work. The work has a span if it wrote something or
// failed.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (result reconcile.Result, err error) {
	k := r.kit
	mode := k.mode()
	if mode == Off {
		k.triggers.take(triggerKey{r.name, req}) // drop triggers from before the switch-off
		return r.inner.Reconcile(ctx, req)
	}
	w := &work{kit: k, name: r.span, mode: mode, kind: r.kind, key: req.NamespacedName, start: k.clock.Now()}
	w.obj, _ = k.informers.object(r.kind, req.NamespacedName)
	p := k.triggers.take(triggerKey{r.name, req})
	w.triggered, w.missed = p.events, p.missed
	returned := false
	defer func() {
		if !returned {
			// The inner reconciler panicked. The callers above handle the panic.
			err = fmt.Errorf("panic in the reconciler of %s", r.name)
		}
		r.end(w, req, result, err)
	}()
	result, err = r.inner.Reconcile(withWork(withTraceLog(ctx, w), w), req)
	returned = true
	return result, err
}

// end emits the spans of a finished work.
func (r *reconciler) end(w *work, req reconcile.Request, result reconcile.Result, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	if err != nil {
		w.place()
		w.left = true
	}
	if !w.left {
		r.rest(w)
		return
	}
	if w.mode != Record {
		return
	}
	rec := record{name: w.name, context: w.self, start: w.start, end: w.kit.clock.Now(), err: err}
	if !w.exact() || w.self.IsSampled() {
		rec.attributes = r.attributes(w, result, err)
		w.made = w.emit(w.parent, rec, trace.WithLinks(w.links...))
		w.flush(w.made)
		r.waits(w, req)
	} else {
		w.made = w.self
	}
	if w.begins && w.made.IsValid() {
		w.episode.root = w.made
		w.kit.episodes.begin(w.subject(), w.episode)
	}
}

// rest closes the episode of a converged object without pending work. A write of only the status
// may mean that the object is no longer converged. The following repair still counts as healing.
func (r *reconciler) rest(w *work) {
	if w.obj == nil {
		return
	}
	if w.wrote {
		if w.settled && !w.episode.root.IsValid() {
			w.kit.episodes.begin(w.subject(), w.episode)
		}
		return
	}
	if w.kit.episodes.open.Len() == 0 {
		return
	}
	if _, open := w.kit.episodes.of(w.subject()); open && w.kit.converged(w.obj) {
		w.kit.episodes.end(w.subject())
	}
}

func (r *reconciler) attributes(w *work, result reconcile.Result, err error) []attribute.KeyValue {
	var a []attribute.KeyValue
	if w.obj != nil {
		a = objectAttributes(w.kind, w.key.Namespace, w.key.Name, string(w.obj.GetUID()), w.obj.GetGeneration())
	} else {
		a = objectAttributes(w.kind, w.key.Namespace, w.key.Name, "", 0)
	}
	a = append(a, attribute.String("lifeline.controller", r.name))
	switch {
	case errors.Is(err, reconcile.TerminalError(nil)):
		a = append(a, attribute.String("lifeline.result", "terminal"))
	case err != nil:
		a = append(a, attribute.String("lifeline.result", "error"))
	case result.RequeueAfter > 0:
		a = append(a, attribute.String("lifeline.result", "requeue"),
			attribute.Float64("lifeline.requeue_after", result.RequeueAfter.Seconds()))
	case result.Requeue: //nolint:staticcheck // while controller-runtime supports it
		a = append(a, attribute.String("lifeline.result", "requeue"))
	default:
		a = append(a, attribute.String("lifeline.result", "done"))
	}
	if w.missed > 0 {
		a = append(a, attribute.Int("lifeline.triggers.dropped", w.missed))
	}
	if w.lost > 0 {
		a = append(a, attribute.Int("lifeline.writes.dropped", w.lost))
	}
	return a
}

// waits emits the spans of the time before the reconcile. They are siblings of the reconcile's
// span, or its children if it is a root.
func (r *reconciler) waits(w *work, req reconcile.Request) {
	above := w.parent
	if !above.IsValid() {
		above = w.made
	}
	sibling := func(name string, start, end time.Time, source string) {
		rec := record{name: name, context: above.WithSpanID(planned.NewSpanID()), start: start, end: end}
		rec.attributes = append(
			objectAttributes(w.kind, w.key.Namespace, w.key.Name, "", 0),
			attribute.String("lifeline.controller", r.name),
		)
		if source != "" {
			rec.attributes = append(rec.attributes, attribute.String("lifeline.time.source", source))
		}
		w.emit(above, rec)
	}
	if r.wait != nil {
		if q, ok := r.wait(req); ok && q.Dequeued.After(q.Due) {
			sibling("queue wait", q.Due, q.Dequeued, "")
		}
	}
	for _, t := range w.triggered {
		if written, source := w.kit.writtenAt(t.stored); !written.IsZero() && t.at.After(written) {
			sibling("watch lag", written, t.at, source)
			return
		}
	}
}
