// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"context"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/operator/internal/failure"
)

const (
	// controllerKey is the controller's name, on both spans.
	controllerKey = attribute.Key("lifeline.controller")
	// resultKey is "done" or "error", on `<controller> reconcile`.
	resultKey = attribute.Key("lifeline.result")
	// linkKey is the reason of a link: "trigger", or "object" for a parent that was set too late.
	linkKey = attribute.Key("lifeline.link")
	// addsKey is the number of merged adds, on `queue wait`.
	addsKey = attribute.Key("lifeline.queue.adds")
	// droppedKey is the number of triggers without a link, on `<controller> reconcile`.
	droppedKey = attribute.Key("lifeline.triggers.dropped")
	// maxErrorText limits an error's text in a span, in bytes.
	maxErrorText = 1024
)

// Work is one turn of an item. It becomes the span `<controller> reconcile`, which starts at the
// dequeue time, with a sibling span `queue wait`. Only a call of Start, or of End with an error,
// makes these spans (L3). Its methods are safe for concurrent use. On a nil Work they do nothing,
// so code without a Work needs no special case.
type Work struct {
	controller string
	tracer     trace.Tracer
	clock      clock.PassiveClock
	wait       Wait

	mu     sync.Mutex
	parent trace.SpanContext
	attrs  []attribute.KeyValue
	span   trace.Span // nil before the first write or failure
	ended  bool
}

type workKey struct{}

// WorkFrom returns the Work that Begin put into ctx; nil if there is none.
func WorkFrom(ctx context.Context) *Work {
	w, _ := ctx.Value(workKey{}).(*Work)
	return w
}

// Begin implements Queue.
func (q *tracked[T]) Begin(ctx context.Context, item T) (context.Context, *Work) {
	wait, ok := q.book.turn(item)
	if !ok {
		wait.Dequeued = q.clock.Now()
	}
	w := &Work{controller: q.controller, tracer: q.tracer, clock: q.clock, wait: wait}
	return context.WithValue(ctx, workKey{}, w), w
}

// SetParent sets the parent of the spans, usually the context on the object. Without a valid one,
// the parent is the span in the context for Start or End. Without that span, the work is a new
// trace. The item's triggers become links. A parent that is set after the span was made becomes a
// link.
func (w *Work) SetParent(sc trace.SpanContext) {
	if w == nil || !sc.IsValid() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.span != nil {
		w.span.AddLink(link(sc, "object"))
		return
	}
	w.parent = sc
}

// SetAttributes adds attributes of the object.
func (w *Work) SetAttributes(attrs ...attribute.KeyValue) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.span != nil {
		w.span.SetAttributes(attrs...)
		return
	}
	w.attrs = append(w.attrs, attrs...)
}

// Start marks a write. Call it before or after the first write that changes something, with the
// context of that write. It returns ctx with the span `<controller> reconcile`, so that the write
// and the written object can carry it. Further calls return the same span.
func (w *Work) Start(ctx context.Context) context.Context {
	if w == nil {
		return ctx
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begin(ctx)
	if w.span == nil {
		return ctx
	}
	return trace.ContextWithSpan(ctx, w.span)
}

// End ends the work. An error makes a span even without a write. Only the first call counts; later
// calls of Start make no span.
func (w *Work) End(ctx context.Context, err error) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	now, result := w.clock.Now(), "done"
	if err != nil {
		result = "error"
		w.begin(ctx)
		w.fail(err, now)
	}
	if w.span != nil {
		w.span.SetAttributes(resultKey.String(result))
		w.span.End(trace.WithTimestamp(now))
	}
	w.ended = true
}

// fail records an error in the same form as the operator kit's own spans.
func (w *Work) fail(err error, at time.Time) {
	kind, text := "error", bounded(failure.Text(err))
	if reason := apierrors.ReasonForError(err); reason != "" {
		kind = string(reason)
	}
	w.span.SetStatus(codes.Error, text)
	w.span.AddEvent("exception", trace.WithTimestamp(at), trace.WithAttributes(
		attribute.String("exception.type", kind), attribute.String("exception.message", text)))
}

// begin makes both spans, unless they exist or the work has ended.
func (w *Work) begin(ctx context.Context) {
	if w.span != nil || w.ended {
		return
	}
	if w.parent.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, w.parent)
	}
	parent := trace.SpanContextFromContext(ctx)
	// A claim belongs to one object. Child spans must not inherit it.
	if bare := lifeline.Unclaimed(parent); !bare.Equal(parent) {
		parent, ctx = bare, trace.ContextWithSpanContext(ctx, bare)
	}
	controller := controllerKey.String(w.controller)
	opts := []trace.SpanStartOption{
		trace.WithTimestamp(w.wait.Dequeued),
		trace.WithAttributes(append(w.attrs, controller)...),
		trace.WithLinks(w.links(parent)...),
	}
	if w.wait.Dropped > 0 {
		opts = append(opts, trace.WithAttributes(droppedKey.Int(w.wait.Dropped)))
	}
	var within context.Context
	within, w.span = w.tracer.Start(ctx, w.controller+" reconcile", opts...)
	if w.wait.Adds == 0 || !w.span.IsRecording() {
		return
	}
	if !parent.IsValid() { // a root has no siblings
		ctx = within
	}
	_, waited := w.tracer.Start(ctx, "queue wait",
		trace.WithTimestamp(w.wait.Due), trace.WithAttributes(controller, addsKey.Int(w.wait.Adds)))
	waited.End(trace.WithTimestamp(w.wait.Dequeued))
}

// links returns the triggers without the parent.
func (w *Work) links(parent trace.SpanContext) []trace.Link {
	links := make([]trace.Link, 0, len(w.wait.Triggers))
	for _, sc := range w.wait.Triggers {
		if !same(sc, parent) {
			links = append(links, link(sc, "trigger"))
		}
	}
	return links
}

func link(sc trace.SpanContext, why string) trace.Link {
	return trace.Link{SpanContext: lifeline.Unclaimed(sc), Attributes: []attribute.KeyValue{linkKey.String(why)}}
}

// bounded truncates a text that may come from the cluster.
func bounded(text string) string {
	if len(text) > maxErrorText {
		text = text[:maxErrorText]
	}
	return strings.ToValidUTF8(text, "")
}
