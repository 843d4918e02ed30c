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
	// maxHeld limits the records that wait until the work needs a span.
	maxHeld = 64
	// maxText limits a text from the cluster in an attribute, in bytes.
	maxText = 1024
)

// effect is the outcome of a write.
type effect int

const (
	// nothing means that the object did not change.
	nothing effect = iota
	// benign means an expected failure, such as the creation of an existing object, or an unknown
	// effect.
	benign
	// status means that a subresource changed.
	status
	// changed means that the object was created, changed or deleted.
	changed
	// failed means that the write failed.
	failed
)

// record is a possible span.
type record struct {
	name       string
	context    trace.SpanContext // as planned; without exact IDs, its IDs are not used
	start, end time.Time
	err        error
	attributes []attribute.KeyValue
}

// write records the outcome of a write. It emits the span at once, or holds the record until the
// work needs a span (L3).
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

// late records a write from a goroutine that outlived its work. If the work has no span, only a
// change or a failure gets one, below the work's parent. The caller holds mu.
func (w *work) late(r record, e effect) {
	above := w.made
	if !above.IsValid() {
		above = w.parent
	}
	if w.made.IsValid() || e == changed || e == failed {
		w.emit(above, r, trace.WithSpanKind(trace.SpanKindClient))
	}
}

// flush emits the held records as spans below parent. The caller holds mu.
func (w *work) flush(parent trace.SpanContext) {
	for _, r := range w.held {
		w.emit(parent, r, trace.WithSpanKind(trace.SpanKindClient))
	}
	w.held = nil
}

// emit makes the span of a finished record and returns its span context.
func (w *work) emit(parent trace.SpanContext, r record, opts ...trace.SpanStartOption) trace.SpanContext {
	if w.exact() && !r.context.IsSampled() {
		return r.context
	}
	ctx := planned.With(context.Background(), planned.Span{
		TraceID: r.context.TraceID(), SpanID: r.context.SpanID(), Sampled: r.context.IsSampled(),
	})
	if parent.IsValid() {
		// The claim in the tracestate describes the object, for readers of the object only.
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

// kindOfError returns an error type with few values: the API's reason, if there is one.
func kindOfError(err error) string {
	if reason := apierrors.ReasonForError(err); reason != "" {
		return string(reason)
	}
	return "error"
}

// objectAttributes returns the attributes of a span's object.
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

// bound truncates a text from the cluster, at a character boundary.
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
