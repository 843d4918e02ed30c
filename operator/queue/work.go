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
	// controllerKey, on both spans, is the controller's name.
	controllerKey = attribute.Key("lifeline.controller")
	// resultKey, on `<controller> reconcile`, is "done" or "error".
	resultKey = attribute.Key("lifeline.result")
	// linkKey, on a link, is why it is there: "trigger", or "object" for a parent
	// that was named too late.
	linkKey = attribute.Key("lifeline.link")
	// addsKey, on `queue wait`, is the number of adds that one turn answers.
	addsKey = attribute.Key("lifeline.queue.adds")
	// droppedKey, on `<controller> reconcile`, counts triggers without a link.
	droppedKey = attribute.Key("lifeline.triggers.dropped")
	// maxErrorText bounds what an error may say in a span, in bytes.
	maxErrorText = 1024
)

// Work is one turn of an item. It becomes the span `<controller> reconcile`
// from the item's dequeuing on, with the span `queue wait` beside it, once Start
// says that something is written or End says that it failed, and no span
// otherwise (L3). Its methods may be called from several goroutines, and on a
// nil Work, where they do nothing: code that is told of no Work needs no
// case of its own.
type Work struct {
	controller string
	tracer     trace.Tracer
	clock      clock.PassiveClock
	wait       Wait

	mu     sync.Mutex
	parent trace.SpanContext
	attrs  []attribute.KeyValue
	span   trace.Span // nil until there is something to tell
	ended  bool
}

type workKey struct{}

// WorkFrom returns the Work that Begin has put into the context, nil if none.
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

// SetParent names the parent of the spans, usually the context on the object
// that is worked on. Without one, or with one that is not valid, it is the span
// in the context that Start or End is given, else the work is a trace of its
// own. The item's triggers become links. A parent that is named after the span
// was made becomes a link.
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

// SetAttributes describes the object that is worked on.
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

// Start says that something is about to be written, or just was: call it with
// the context of the first write that changes something. It returns the context
// with the span `<controller> reconcile` in it, so that the write, and what is
// written, can carry it. Further calls return the same span.
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

// End ends the work. With an error there is a span even if nothing was written.
// Only the first call counts; nothing begins after it.
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

// fail tells of an error as the operator kit's own spans do.
func (w *Work) fail(err error, at time.Time) {
	kind, text := "error", bounded(failure.Text(err))
	if reason := apierrors.ReasonForError(err); reason != "" {
		kind = string(reason)
	}
	w.span.SetStatus(codes.Error, text)
	w.span.AddEvent("exception", trace.WithTimestamp(at), trace.WithAttributes(
		attribute.String("exception.type", kind), attribute.String("exception.message", text)))
}

// begin makes both spans, unless they are there or it is too late.
func (w *Work) begin(ctx context.Context) {
	if w.span != nil || w.ended {
		return
	}
	if w.parent.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, w.parent)
	}
	parent := trace.SpanContextFromContext(ctx)
	// A claim is about one object: spans below must not inherit it.
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

// links is the triggers but for the parent.
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

// bounded cuts a text that may come from the cluster.
func bounded(text string) string {
	if len(text) > maxErrorText {
		text = text[:maxErrorText]
	}
	return strings.ToValidUTF8(text, "")
}
