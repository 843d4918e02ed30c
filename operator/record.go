// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/operator/internal/failure"
	"github.com/kube-lifeline/lifeline/operator/internal/planned"
)

const (
	// maxHeld bounds the records that wait for the work to prove worth a span.
	maxHeld = 64
	// maxText bounds a text from the cluster in an attribute, in bytes.
	maxText = 1024
)

// effect is what a write came to.
type effect int

const (
	// nothing: what was written was there already.
	nothing effect = iota
	// benign: it failed as it was expected to, such as creating what exists.
	benign
	// status: a subresource changed.
	status
	// changed: the object itself changed, came or went.
	changed
	// failed: it did not come to pass.
	failed
)

// record is a span that may come to be.
type record struct {
	name       string
	context    trace.SpanContext // as planned; without exact IDs only the IDs do not count
	start, end time.Time
	err        error
	attributes []attribute.KeyValue
}

// write takes up what a write came to: as a span at once, or held until the
// work proves worth one (L3).
func (w *work) write(r record, e effect) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		w.late(r, e)
		return
	}
	switch e {
	case nothing:
		return
	case changed, failed:
		w.wrote, w.left = true, true
	case status:
		w.wrote = true
		w.left = w.left || !w.settled
	case benign:
	}
	if len(w.held) < maxHeld {
		w.held = append(w.held, r)
	} else {
		w.lost++
	}
	if w.left && (w.exact() || w.loose) {
		w.flush(w.self)
	}
}

// late takes up a write by a goroutine that its work has not waited for. Below a
// span that was never made it would be an orphan. The caller holds mu.
func (w *work) late(r record, e effect) {
	above := w.made
	if !above.IsValid() {
		above = w.parent
	}
	if w.made.IsValid() || e == changed || e == failed {
		w.emit(above, r, trace.WithSpanKind(trace.SpanKindClient))
	}
}

// flush makes spans of what was held, below parent. The caller holds mu.
func (w *work) flush(parent trace.SpanContext) {
	for _, r := range w.held {
		w.emit(parent, r, trace.WithSpanKind(trace.SpanKindClient))
	}
	w.held = nil
}

// emit makes the span of a record that is over and returns its span context.
func (w *work) emit(parent trace.SpanContext, r record, opts ...trace.SpanStartOption) trace.SpanContext {
	if w.exact() && !r.context.IsSampled() {
		return r.context
	}
	ctx := planned.With(context.Background(), planned.Span{
		TraceID: r.context.TraceID(), SpanID: r.context.SpanID(), Sampled: r.context.IsSampled(),
	})
	if parent.IsValid() {
		// The claim beside it says what the object holds: for the object's readers.
		ctx = trace.ContextWithRemoteSpanContext(ctx, lifeline.Unclaimed(parent))
	}
	opts = append(opts, trace.WithTimestamp(r.start), trace.WithAttributes(r.attributes...))
	_, span := w.kit.tracer.Start(ctx, r.name, opts...)
	if r.err != nil {
		text := bound(failure.Text(r.err))
		span.SetStatus(codes.Error, text)
		span.AddEvent("exception", trace.WithTimestamp(r.end), trace.WithAttributes(
			attribute.String("exception.type", kindOfError(r.err)), attribute.String("exception.message", text)))
	}
	span.End(trace.WithTimestamp(r.end))
	return span.SpanContext()
}

// kindOfError names an error with few values: the API's reason, if it has one.
func kindOfError(err error) string {
	if reason := apierrors.ReasonForError(err); reason != "" {
		return string(reason)
	}
	return "error"
}

// objectAttributes are those of the object that a span is about.
func objectAttributes(gvk schema.GroupVersionKind, namespace, name, uid string, generation int64) []attribute.KeyValue {
	a := []attribute.KeyValue{
		attribute.String("k8s.object.group", gvk.Group),
		attribute.String("k8s.object.version", gvk.Version),
		attribute.String("k8s.object.kind", gvk.Kind),
	}
	if name != "" {
		a = append(a, attribute.String("k8s.object.name", bound(name)))
	}
	if namespace != "" {
		a = append(a, attribute.String("k8s.namespace.name", bound(namespace)))
	}
	if uid != "" {
		a = append(a, attribute.String("k8s.object.uid", bound(uid)))
	}
	if generation > 0 {
		a = append(a, attribute.Int64("k8s.object.generation", generation))
	}
	return a
}

// bound cuts a text from the cluster, on the boundary of a character.
func bound(s string) string {
	if len(s) <= maxText {
		return s
	}
	cut := maxText
	for cut > 0 && s[cut]&0xc0 == 0x80 {
		cut--
	}
	return s[:cut]
}
