// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"context"
	"errors"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/examples/head-operator/api/v1alpha1"
	"github.com/kube-lifeline/lifeline/operator"
	"github.com/kube-lifeline/lifeline/operator/operatortest"
	"github.com/kube-lifeline/lifeline/operator/tracing"
)

// with runs an operator with that option on one Head of each style, until all is written. It calls
// f with the contexts of each Head and child.
func with(t *testing.T, o operator.Option, f func(h, child trace.SpanContext, what string)) *life {
	t.Helper()
	install(t)
	l := newLife(t, owned, true)
	l.options = []operator.Option{o}
	l.create(t)
	l.start(t)
	l.calm(t)
	l.force(t, again, headNames()...)
	l.stop()
	for _, name := range headNames() {
		h := &v1alpha1.Head{}
		if err := l.client.Get(t.Context(), client.ObjectKey{Namespace: l.ns, Name: name}, h); err != nil {
			t.Fatal(err)
		}
		for _, c := range children {
			obj := c.empty()
			if err := l.client.Get(t.Context(), client.ObjectKeyFromObject(h), obj); err != nil {
				t.Fatal(err)
			}
			f(lifeline.Extract(h), lifeline.Extract(obj), name+" "+c.gvk.Kind)
		}
	}
	return l
}

// TestOff: with tracing off, children get no context.
func TestOff(t *testing.T) {
	off, err := tracing.New(tracing.Options{ServiceName: "kit"})
	if err != nil {
		t.Fatal(err)
	}
	with(t, operator.WithTracerProvider(off), func(_, child trace.SpanContext, what string) {
		if child.IsValid() {
			t.Errorf("%s has context %s, want none", what, child.SpanID())
		}
	})
}

// TestPropagate: without a Configuration, the operator copies the Head's context to the children,
// and makes no spans.
func TestPropagate(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	on, err := tracing.New(tracing.Options{ServiceName: "kit", Enabled: true, SpanProcessor: spans})
	if err != nil {
		t.Fatal(err)
	}
	with(t, operator.WithTracerProvider(on), func(h, child trace.SpanContext, what string) {
		if child.TraceID() != h.TraceID() || child.SpanID() != h.SpanID() {
			t.Errorf("%s has context %s, want its Head's %s", what, child.SpanID(), h.SpanID())
		}
	})
	if n := len(spans.Ended()); n > 0 {
		t.Errorf("got %d spans, want none", n)
	}
}

// TestForeignProvider: a tracer provider of the SDK ignores the kit's planned span IDs. The spans
// are still a tree without missing parents.
func TestForeignProvider(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	sdk := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	known := map[trace.SpanID]bool{}
	var carried []trace.SpanContext
	with(t, operator.WithTracerProvider(sdk), func(h, child trace.SpanContext, what string) {
		known[h.SpanID()] = true
		carried = append(carried, child)
		if child.TraceID() != h.TraceID() {
			t.Errorf("%s has trace %s, want its Head's %s", what, child.TraceID(), h.TraceID())
		}
	})
	for _, s := range spans.Ended() {
		known[s.SpanContext().SpanID()] = true
	}
	for _, s := range spans.Ended() {
		if p := s.Parent(); p.IsValid() && !known[p.SpanID()] {
			t.Errorf("the parent of %s is missing:\n%s", s.Name(), operatortest.Tree(spans.Ended()))
		}
	}
	for _, sc := range carried {
		if sc.IsValid() && !known[sc.SpanID()] {
			t.Errorf("a child has context %s, but that span does not exist", sc.SpanID())
		}
	}
}

// TestDryRunAndConflict: a dry run leaves no span and no context. The span of a conflict is marked
// as such.
func TestDryRunAndConflict(t *testing.T) {
	install(t)
	l := newLife(t, owned, true)
	tried := make(chan error, 1)
	l.write = func(ctx context.Context, w *hand, h *v1alpha1.Head) error {
		dry := children[3].fresh(h)
		err := w.client.Create(ctx, dry, client.DryRunAll)
		if lifeline.Extract(dry).IsValid() {
			err = errors.Join(err, errors.New("the object of a dry run has a context"))
		}
		made := children[3].fresh(h)
		err = errors.Join(err, w.client.Create(ctx, made))
		made.SetLabels(map[string]string{"a": "b"})
		made.SetResourceVersion("1")
		if conflict := w.client.Update(ctx, made); conflict == nil {
			err = errors.Join(err, errors.New("the update of an old version succeeded, want a conflict"))
		}
		select {
		case tried <- err:
		default:
		}
		return nil
	}
	h := &v1alpha1.Head{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.ns, Name: "one", Annotations: outside(1, 1)},
		Spec:       v1alpha1.HeadSpec{Image: "registry.example/app:1", Replicas: ptr.To[int32](0)},
	}
	if err := l.client.Create(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	l.start(t)
	if err := <-tried; err != nil {
		t.Error(err)
	}
	l.stop()
	l.recorder.OneTrace(t, "head reconcile", "create ConfigMap", "update ConfigMap")
	marked := false
	for _, s := range l.recorder.Find("update ConfigMap") {
		for _, a := range s.Attributes() {
			marked = marked || a.Key == "lifeline.conflict" && a.Value.AsBool()
		}
	}
	if !marked {
		t.Errorf("no update is marked as a conflict:\n%s", operatortest.Tree(l.recorder.Spans()))
	}
}
