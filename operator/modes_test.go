// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	tracingapi "k8s.io/component-base/tracing/api/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/operator"
)

// stored returns the context on the stored child.
func (r *rig) stored(t *testing.T) trace.SpanContext {
	t.Helper()
	obj := &corev1.ConfigMap{}
	if err := r.server.Get(t.Context(), client.ObjectKeyFromObject(child()), obj); err != nil {
		t.Fatal(err)
	}
	return lifeline.Extract(obj)
}

// again deletes the child, so that it can be created again.
func (r *rig) again(t *testing.T) {
	t.Helper()
	if err := r.server.Delete(t.Context(), child()); err != nil {
		t.Fatal(err)
	}
	r.rec.Reset()
}

func TestLinkMode(t *testing.T) {
	r := newRig(t, interceptor.Funcs{}, operator.WithLinks())
	r.have(t, parent(carrying(claimed(1))))
	if _, err := r.reconcile(t, creates); err != nil {
		t.Fatal(err)
	}
	first := r.rec.OneTrace(t, "head reconcile", "create ConfigMap")
	s := only(t, r.rec, "head reconcile")
	if first == given(1).TraceID() || s.Parent().IsValid() {
		t.Errorf("got trace %s with parent %v, want a root", first, s.Parent())
	}
	if diff := cmp.Diff(map[string]string{traceOf(1): "object"}, links(s)); diff != "" {
		t.Errorf("links, -want +got\n%s", diff)
	}
	claim, holds := lifeline.ClaimOf(r.stored(t))
	if !holds || claim.Parent != given(1).SpanID() || claim.ParentTrace != given(1).TraceID() ||
		!claim.Time.Equal(claimTime()) {
		t.Errorf("the child's claim = %v", claim)
	}
	context := r.stored(t)

	t.Run("the child's events are of the same trace", func(t *testing.T) {
		r.again(t)
		r.kit.Trigger("head", request, &corev1.ConfigMap{ObjectMeta: annotated(context)})
		if _, err := r.reconcile(t, creates); err != nil {
			t.Fatal(err)
		}
		if got := r.rec.OneTrace(t, "head reconcile"); got != first {
			t.Errorf("another reconcile for the same context is in trace %s, want %s", got, first)
		}
		if diff := cmp.Diff(
			map[string]string{traceOf(1): "object"},
			links(only(t, r.rec, "head reconcile")),
		); diff != "" {
			t.Errorf("links, -want +got\n%s", diff)
		}
	})

	t.Run("another context is another trace", func(t *testing.T) {
		r.again(t)
		r.have(t, parent(carrying(claimed(2))))
		if _, err := r.reconcile(t, creates); err != nil {
			t.Fatal(err)
		}
		if got := r.rec.OneTrace(t, "head reconcile"); got == first {
			t.Error("a reconcile for another context is in the same trace")
		}
	})

	t.Run("a healing's reconciles link to its first", func(t *testing.T) {
		r.again(t)
		r.have(t, parent(ready, carrying(claimed(3))))
		if _, err := r.reconcile(t, creates); err != nil {
			t.Fatal(err)
		}
		healing := only(t, r.rec, "head reconcile")
		r.again(t)
		r.have(t, parent(unready, carrying(claimed(3))))
		if _, err := r.reconcile(t, creates); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{healing.SpanContext().TraceID().String(): "episode"}
		if diff := cmp.Diff(want, links(only(t, r.rec, "head reconcile"))); diff != "" {
			t.Errorf("links, -want +got\n%s", diff)
		}
	})
}

func TestSampledFlagSurvives(t *testing.T) {
	cases := map[string]struct {
		reason string
		opts   []operator.Option
		parent *policyv1.PodDisruptionBudget
		want   []string
	}{
		"below a sampled context": {
			reason: "it decides",
			parent: parent(carrying(given(1))),
			want:   []string{"create ConfigMap", "head reconcile"},
		},
		"below an unsampled context": {
			reason: "the parent decides",
			parent: parent(carrying(given(1).WithTraceFlags(0))),
		},
		"without one": {reason: "the rate is 0", parent: parent()},
		"link mode, sampled": {
			reason: "the new root follows from a sampled context",
			opts:   []operator.Option{operator.WithLinks()},
			parent: parent(carrying(given(1))),
			want:   []string{"create ConfigMap", "head reconcile"},
		},
		"link mode, not sampled": {
			reason: "the context decides",
			opts:   []operator.Option{operator.WithLinks()},
			parent: parent(carrying(given(1).WithTraceFlags(0))),
		},
		"healing of a sampled context": {
			reason: "the new root follows from a sampled context",
			parent: parent(ready, carrying(given(1))),
			want:   []string{"create ConfigMap", "head reconcile"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, interceptor.Funcs{}, tc.opts...)
			if err := r.rec.Tracing().Set(t.Context(), true, &tracingapi.TracingConfiguration{}); err != nil {
				t.Fatal(err)
			}
			r.have(t, tc.parent)
			if _, err := r.reconcile(t, creates); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, names(r.rec.Spans())); diff != "" {
				t.Errorf("%s: -want +got\n%s", tc.reason, diff)
			}
			sc := r.stored(t)
			if !sc.IsValid() || sc.IsSampled() != (tc.want != nil) {
				t.Errorf("%s: the child carries %v", tc.reason, sc)
			}
		})
	}
}

func TestPropagate(t *testing.T) {
	cases := map[string]struct {
		reason string
		parent *policyv1.PodDisruptionBudget
		want   trace.SpanContext
	}{
		"a context": {
			reason: "the context is passed on unchanged, because there is no new span",
			parent: parent(carrying(given(1))),
			want:   given(1),
		},
		"none": {reason: "no context is created", parent: parent()},
		"outdated": {
			reason: "the context does not match the current work",
			parent: parent(ready, carrying(given(1))),
		},
		"in link mode, too": {
			reason: "there is no root span for a link",
			parent: parent(carrying(given(1))),
			want:   given(1),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var opts []operator.Option
			if name == "in link mode, too" {
				opts = append(opts, operator.WithLinks())
			}
			r := newRig(t, interceptor.Funcs{}, opts...)
			if err := r.rec.Tracing().Set(t.Context(), true, nil); err != nil {
				t.Fatal(err)
			}
			r.have(t, tc.parent)
			var sent trace.SpanContext
			_, err := r.reconcile(t, func(ctx context.Context, _ client.Client) (reconcile.Result, error) {
				return creates(ctx, r.kit.Client(interceptor.NewClient(r.server, interceptor.Funcs{
					Create: func(
						ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption,
					) error {
						sent = trace.SpanContextFromContext(ctx)
						return c.Create(ctx, obj, opts...)
					},
				})))
			})
			if err != nil {
				t.Fatal(err)
			}
			r.rec.None(t)
			for what, got := range map[string]trace.SpanContext{"the child": r.stored(t), "the request": sent} {
				if got.TraceID() != tc.want.TraceID() || got.SpanID() != tc.want.SpanID() {
					t.Errorf("%s: %s carries %v, want %v", tc.reason, what, got, tc.want)
				}
			}
		})
	}
}

func TestOff(t *testing.T) {
	for name, opts := range map[string][]operator.Option{
		"switched off": nil, "no provider to speak of": {operator.WithTracerProvider(noop.NewTracerProvider())},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, interceptor.Funcs{}, opts...)
			if err := r.rec.Tracing().Set(t.Context(), false, nil); err != nil {
				t.Fatal(err)
			}
			r.have(t, parent(carrying(given(1))))
			_, err := r.reconcile(t, func(ctx context.Context, c client.Client) (reconcile.Result, error) {
				if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
					t.Errorf("the reconciler's context has %v", sc)
				}
				return creates(ctx, c)
			})
			if err != nil {
				t.Fatal(err)
			}
			r.rec.None(t)
			if sc := r.stored(t); sc.IsValid() {
				t.Errorf("the child carries %v", sc)
			}
			if _, writes, _ := r.kit.Counts(); writes != 0 {
				t.Errorf("%d writes are stored", writes)
			}
		})
	}
}

// TestForeignProvider checks that any TracerProvider gives one tree. The child can then carry only
// a context that exists before the write.
func TestForeignProvider(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	sdk := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	defer func() { _ = sdk.Shutdown(context.WithoutCancel(t.Context())) }()
	r := newRig(t, interceptor.Funcs{}, operator.WithTracerProvider(sdk))
	find := func(name string) sdktrace.ReadOnlySpan {
		t.Helper()
		for _, s := range spans.Ended() {
			if s.Name() == name {
				return s
			}
		}
		t.Fatalf("no span named %s", name)
		return nil
	}

	r.have(t, parent(carrying(claimed(1))))
	if _, err := r.reconcile(t, creates); err != nil {
		t.Fatal(err)
	}
	work, write := find("head reconcile"), find("create ConfigMap")
	if work.Parent().SpanID() != given(1).SpanID() || write.Parent().SpanID() != work.SpanContext().SpanID() {
		t.Errorf("parent of the reconcile: %v, of the write: %v", work.Parent(), write.Parent())
	}
	claim, holds := lifeline.ClaimOf(r.stored(t))
	if sc := r.stored(t); sc.SpanID() != given(1).SpanID() || !holds ||
		!claim.Names(lifeline.Identity{Kind: "ConfigMap", Namespace: "demo", Name: "child"}) {
		t.Errorf("the child carries %v with %v, want its parent's context", sc, claim)
	}

	r.again(t)
	spans.Reset()
	r.have(t, parent(ready, carrying(claimed(1))))
	if _, err := r.reconcile(t, creates); err != nil {
		t.Fatal(err)
	}
	healing := find("head reconcile")
	if healing.Parent().IsValid() || r.stored(t).IsValid() {
		t.Errorf("parent of the healing: %v; the child carries %v", healing.Parent(), r.stored(t))
	}
	r.again(t)
	spans.Reset()
	r.have(t, parent(unready, carrying(claimed(1))))
	if _, err := r.reconcile(t, creates); err != nil {
		t.Fatal(err)
	}
	if got := find("head reconcile").Parent().SpanID(); got != healing.SpanContext().SpanID() {
		t.Errorf("the parent of the continued healing is %s, want %s", got, healing.SpanContext().SpanID())
	}
}

// TestSwitchInTheMiddle switches tracing off during a reconcile.
func TestSwitchInTheMiddle(t *testing.T) {
	r := newRig(t, interceptor.Funcs{})
	r.have(t, parent(carrying(given(1))))
	_, err := r.reconcile(t, func(ctx context.Context, c client.Client) (reconcile.Result, error) {
		if err := r.rec.Tracing().Set(ctx, false, nil); err != nil {
			return reconcile.Result{}, err
		}
		return creates(ctx, c)
	})
	if err != nil {
		t.Fatal(err)
	}
	r.rec.None(t)
	if sc := r.stored(t); sc.IsValid() {
		t.Errorf("the child carries %v", sc)
	}
}
