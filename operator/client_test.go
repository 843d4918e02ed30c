// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"context"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/operator"
)

func TestSpansOfWrites(t *testing.T) {
	modified := func() *corev1.ConfigMap {
		obj := child()
		obj.Data["a"] = "2"
		return obj
	}
	cases := map[string]struct {
		reason string
		do     func(context.Context, client.Client) error
		want   string
		fresh  bool // the child carries the write's context afterwards
	}{
		"update": {
			reason: "P1",
			do:     func(ctx context.Context, c client.Client) error { return c.Update(ctx, modified()) },
			want:   "update ConfigMap",
			fresh:  true,
		},
		"merge patch": {reason: "P1", do: func(ctx context.Context, c client.Client) error {
			return c.Patch(ctx, modified(), client.MergeFrom(child()))
		}, want: "patch ConfigMap", fresh: true},
		"strategic patch": {reason: "P1", do: func(ctx context.Context, c client.Client) error {
			return c.Patch(ctx, modified(), client.StrategicMergeFrom(child()))
		}, want: "patch ConfigMap", fresh: true},
		"JSON patch": {reason: "P1", do: func(ctx context.Context, c client.Client) error {
			return c.Patch(
				ctx,
				child(),
				client.RawPatch(
					"application/json-patch+json",
					[]byte(`[{"op":"replace","path":"/data/a","value":"2"}]`),
				),
			)
		}, want: "patch ConfigMap", fresh: true},
		"apply": {reason: "P1", do: func(ctx context.Context, c client.Client) error {
			return c.Apply(
				ctx,
				corev1ac.ConfigMap("child", "demo").WithData(map[string]string{"a": "2"}),
				client.FieldOwner("head"),
				client.ForceOwnership,
			)
		}, want: "apply ConfigMap", fresh: true},
		"delete": {
			reason: "the patch has no context",
			do:     func(ctx context.Context, c client.Client) error { return c.Delete(ctx, child()) },
			want:   "delete ConfigMap",
		},
		"patch of the status": {
			reason: "a subresource has no context",
			do: func(ctx context.Context, c client.Client) error {
				p := parent(ready)
				return c.Status().Patch(ctx, p, client.MergeFrom(parent()))
			},
			want: "patch PodDisruptionBudget/status",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, interceptor.Funcs{})
			r.have(t, parent(carrying(given(1))))
			obj := child()
			if name == "JSON patch" {
				obj.Annotations = map[string]string{"team": "red"}
			}
			r.haveChild(t, obj)
			_, err := r.reconcile(t, func(ctx context.Context, c client.Client) (reconcile.Result, error) {
				return reconcile.Result{}, tc.do(ctx, c)
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := r.rec.OneTrace(t, "head reconcile", tc.want); got != given(1).TraceID() {
				t.Errorf("%s: trace = %s", tc.reason, got)
			}
			write := only(t, r.rec, tc.want)
			if write.SpanKind() != trace.SpanKindClient {
				t.Errorf("%s: span kind = %v", tc.reason, write.SpanKind())
			}
			if tc.fresh && r.stored(t).SpanID() != write.SpanContext().SpanID() {
				t.Errorf("%s: the child carries %v, want the write's %v", tc.reason, r.stored(t), write.SpanContext())
			}
		})
	}
}

// haveChild puts the child into the server and the informer.
func (r *rig) haveChild(t *testing.T, obj *corev1.ConfigMap) {
	t.Helper()
	if err := r.server.Create(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	r.informChild(t)
}

func (r *rig) informChild(t *testing.T) {
	t.Helper()
	obj := &corev1.ConfigMap{}
	if err := r.server.Get(t.Context(), client.ObjectKeyFromObject(child()), obj); err != nil {
		t.Fatal(err)
	}
	if err := r.children.Add(obj); err != nil {
		t.Fatal(err)
	}
}

// TestOwnObjectIsGivenNoContext checks that a controller's write of the object that it reconciles
// gets no context. The write follows from the object's own change (P1).
func TestOwnObjectIsGivenNoContext(t *testing.T) {
	r := newRig(t, interceptor.Funcs{})
	r.have(t, parent(carrying(claimed(1))))
	_, err := r.reconcile(t, func(ctx context.Context, c client.Client) (reconcile.Result, error) {
		p := &policyv1.PodDisruptionBudget{}
		if err := c.Get(ctx, request.NamespacedName, p); err != nil {
			return reconcile.Result{}, err
		}
		p.Finalizers = append(p.Finalizers, "demo/clean")
		return reconcile.Result{}, c.Update(ctx, p)
	})
	if err != nil {
		t.Fatal(err)
	}
	r.rec.OneTrace(t, "head reconcile", "update PodDisruptionBudget")
	p := &policyv1.PodDisruptionBudget{}
	if err := r.server.Get(t.Context(), request.NamespacedName, p); err != nil {
		t.Fatal(err)
	}
	if got := lifeline.Extract(p); got.SpanID() != given(1).SpanID() {
		t.Errorf("the object carries %v", got)
	}
}

// TestSharedAnnotations checks objects that share one annotation map, which is common in
// reconcilers.
func TestSharedAnnotations(t *testing.T) {
	shared := map[string]string{"team": "red"}
	for name, do := range map[string]func(context.Context, client.Client, client.Object) error{
		"create": func(ctx context.Context, c client.Client, o client.Object) error { return c.Create(ctx, o) },
		"update": func(ctx context.Context, c client.Client, o client.Object) error { return c.Update(ctx, o) },
		"patch": func(ctx context.Context, c client.Client, o client.Object) error {
			return c.Patch(ctx, o, client.MergeFrom(child()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, interceptor.Funcs{})
			r.have(t, parent(carrying(given(1))))
			if name != "create" {
				r.haveChild(t, child())
			}
			obj := child()
			obj.Annotations, obj.Data["a"] = shared, "2"
			_, err := r.reconcile(t, func(ctx context.Context, c client.Client) (reconcile.Result, error) {
				return reconcile.Result{}, do(ctx, c, obj)
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[string]string{"team": "red"}, shared); diff != "" {
				t.Errorf("the shared map changed: %s", diff)
			}
			if !r.stored(t).IsValid() {
				t.Error("the child carries no context")
			}
		})
	}
}

// TestFailedWriteLeavesTheObject checks that a failed write does not change the object, because a
// caller may retry with it.
func TestFailedWriteLeavesTheObject(t *testing.T) {
	r := newRig(t, answers(errTest))
	r.have(t, parent(carrying(given(1))))
	obj := child()
	obj.Annotations = map[string]string{"team": "red"}
	before := maps.Clone(obj.Annotations)
	_, _ = r.reconcile(t, func(ctx context.Context, c client.Client) (reconcile.Result, error) {
		_ = c.Create(ctx, obj)
		return reconcile.Result{}, c.Update(ctx, obj)
	})
	if diff := cmp.Diff(before, obj.Annotations); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestOutsideAReconcile writes from a goroutine outside reconciles that has a span.
func TestOutsideAReconcile(t *testing.T) {
	r := newRig(t, interceptor.Funcs{})
	if err := r.client.Create(t.Context(), child()); err != nil {
		t.Fatal(err)
	}
	r.rec.None(t)
	if r.stored(t).IsValid() {
		t.Error("the child has a context although the caller had no span")
	}
	r.again(t)

	ctx, span := r.rec.Tracing().Tracer("main").Start(t.Context(), "housekeeping")
	if err := r.client.Create(ctx, child()); err != nil {
		t.Fatal(err)
	}
	span.End()
	r.rec.OneTrace(t, "housekeeping", "create ConfigMap")
	if got, want := r.stored(t).SpanID(), only(t, r.rec, "create ConfigMap").SpanContext().SpanID(); got != want {
		t.Errorf("the child carries %s, want %s", got, want)
	}
}

func TestReads(t *testing.T) {
	gets := func(ctx context.Context, c client.Client) (reconcile.Result, error) {
		if err := c.Get(
			ctx,
			client.ObjectKeyFromObject(child()),
			&corev1.ConfigMap{},
		); client.IgnoreNotFound(err) != nil {
			return reconcile.Result{}, err
		}
		if err := c.List(ctx, &corev1.SecretList{}); err != nil {
			return reconcile.Result{}, err
		}
		return creates(ctx, c)
	}
	cases := map[string]struct {
		reason string
		opts   []operator.Option
		do     func(context.Context, client.Client) (reconcile.Result, error)
		want   []string
	}{
		"by default": {reason: "reads are off", do: gets, want: []string{"create ConfigMap", "head reconcile"}},
		"with WithReads": {
			reason: "a read from an informer has no span",
			opts:   []operator.Option{operator.WithReads()},
			do:     gets,
			want:   []string{"create ConfigMap", "head reconcile", "list Secret"},
		},
		"alone": {
			reason: "L3: a reconcile with only reads has no span",
			opts:   []operator.Option{operator.WithReads()},
			do: func(ctx context.Context, c client.Client) (reconcile.Result, error) {
				return reconcile.Result{}, c.List(ctx, &corev1.SecretList{})
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, interceptor.Funcs{}, tc.opts...)
			r.have(t, parent(carrying(given(1))))
			if _, err := r.reconcile(t, tc.do); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, names(r.rec.Spans())); diff != "" {
				t.Errorf("%s: -want +got\n%s", tc.reason, diff)
			}
		})
	}
}
