// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-lifeline/lifeline"
)

// refusals makes the API server refuse the first n writes with err.
func refusals(n int, err error) interceptor.Funcs {
	refuse := func() bool { n--; return n >= 0 }
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			if refuse() {
				return err
			}
			return c.Create(ctx, obj, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			if refuse() {
				return err
			}
			return c.Update(ctx, obj, opts...)
		},
		Patch: func(
			ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption,
		) error {
			if refuse() {
				return err
			}
			return c.Patch(ctx, obj, p, opts...)
		},
		Apply: func(
			ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption,
		) error {
			if refuse() {
				return err
			}
			return c.Apply(ctx, obj, opts...)
		},
	}
}

// ways are the kinds of writes that set another state of the child.
var ways = map[string]func(ctx context.Context, c client.Client, have *corev1.ConfigMap, value string) error{
	"update": func(ctx context.Context, c client.Client, have *corev1.ConfigMap, value string) error {
		have.Data["a"] = value
		return c.Update(ctx, have)
	},
	"patch": func(ctx context.Context, c client.Client, have *corev1.ConfigMap, value string) error {
		base := have.DeepCopy()
		have.Data["a"] = value
		return c.Patch(ctx, have, client.MergeFrom(base))
	},
	"apply": func(ctx context.Context, c client.Client, _ *corev1.ConfigMap, value string) error {
		return c.Apply(ctx, corev1ac.ConfigMap("child", "demo").WithData(map[string]string{"a": value}),
			client.FieldOwner("head"), client.ForceOwnership)
	},
}

// write runs a reconcile that writes the child in one of the ways.
func (r *rig) write(t *testing.T, way, value string) error {
	t.Helper()
	have := &corev1.ConfigMap{}
	if err := r.server.Get(t.Context(), client.ObjectKeyFromObject(child()), have); err != nil {
		t.Fatal(err)
	}
	_, err := r.reconcile(t, func(ctx context.Context, c client.Client) (reconcile.Result, error) {
		return reconcile.Result{}, ways[way](ctx, c, have, value)
	})
	return err
}

// carriesLast checks that the child carries the context of the last span with a name.
func (r *rig) carriesLast(t *testing.T, name string) {
	t.Helper()
	spans := r.rec.Find(name)
	if len(spans) == 0 || r.stored(t).SpanID() != spans[len(spans)-1].SpanContext().SpanID() {
		t.Errorf("the child carries %v, want the context of the last of %d spans %s", r.stored(t), len(spans), name)
	}
}

// TestFlappingState checks that each write gets a different span. The writes have the same parent
// context and restore earlier states of the child.
func TestFlappingState(t *testing.T) {
	for way := range ways {
		t.Run(way, func(t *testing.T) {
			r := newRig(t, interceptor.Funcs{})
			r.have(t, parent(carrying(given(1))))
			r.haveChild(t, child())
			for _, value := range []string{"2", "3", "2", "3", "2"} {
				if err := r.write(t, way, value); err != nil {
					t.Fatal(err)
				}
				r.carriesLast(t, way+" ConfigMap")
				r.informChild(t)
			}
			r.rec.OneTrace(t)
			if got := len(r.rec.Find(way + " ConfigMap")); got != 5 {
				t.Errorf("got %d spans for 5 writes", got)
			}
		})
	}
}

// TestRefusedWrites checks that a refused write has another span than its retries, refused or
// successful.
func TestRefusedWrites(t *testing.T) {
	for name, err := range map[string]error{
		"conflict": apierrors.NewConflict(configMaps, "child", errTest), "no answer": errTest,
		"forbidden": apierrors.NewForbidden(configMaps, "child", errTest),
	} {
		for way := range ways {
			t.Run(way+", "+name, func(t *testing.T) {
				r := newRig(t, refusals(3, err))
				r.have(t, parent(carrying(given(1))))
				r.haveChild(t, child())
				for range 3 {
					if r.write(t, way, "2") == nil {
						t.Fatal("the write was not refused")
					}
				}
				if err := r.write(t, way, "2"); err != nil {
					t.Fatal(err)
				}
				r.rec.OneTrace(t)
				r.carriesLast(t, way+" ConfigMap")
			})
		}
		t.Run("create, "+name, func(t *testing.T) {
			r := newRig(t, refusals(2, err))
			r.have(t, parent(carrying(given(1))))
			for range 3 {
				_, _ = r.reconcile(t, creates)
			}
			r.rec.OneTrace(t)
			r.carriesLast(t, "create ConfigMap")
		})
	}
}

// TestRefusedApplyStaysTheSame checks that the retry of a refused apply is identical. The API
// server may have stored the first one, so the retry must change nothing.
func TestRefusedApplyStaysTheSame(t *testing.T) {
	var got []map[string]string
	r := newRig(t, recorded(&got, func(*unstructured.Unstructured) error { return errTest }))
	r.have(t, parent(carrying(given(1))))
	for range 3 {
		_, _ = r.reconcile(t, applies("1"))
	}
	if diff := cmp.Diff([]map[string]string{got[0], got[0]}, got[1:]); diff != "" || len(got[0]) == 0 {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestGeneratedNames(t *testing.T) {
	r := newRig(t, interceptor.Funcs{})
	r.have(t, parent(carrying(given(1))))
	carried := map[string]bool{}
	_, err := r.reconcile(t, func(ctx context.Context, c client.Client) (reconcile.Result, error) {
		for range 3 {
			obj := &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: "demo", GenerateName: "child-"},
				Data:       map[string]string{"a": "1"},
			}
			if err := c.Create(ctx, obj); err != nil {
				return reconcile.Result{}, err
			}
			if !strings.HasPrefix(obj.Name, "child-") {
				t.Errorf("the object's name is %q", obj.Name)
			}
			carried[lifeline.Extract(obj).SpanID().String()] = true
		}
		return reconcile.Result{}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r.rec.OneTrace(t)
	for _, s := range r.rec.Find("create ConfigMap") {
		if !carried[s.SpanContext().SpanID().String()] {
			t.Errorf("no object carries span %s", s.SpanContext().SpanID())
		}
	}
	if len(carried) != 3 {
		t.Errorf("got %d contexts for three objects", len(carried))
	}
}
