// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-lifeline/lifeline"
)

// uninformed returns a rig without an informer of the children. Its API server responds to each
// write with an object of that UID.
func uninformed(t *testing.T, uid *types.UID) *rig {
	t.Helper()
	version := 10
	answer := func(obj client.Object) error {
		version++
		obj.SetUID(*uid)
		obj.SetResourceVersion(string(rune('0'+version/10)) + string(rune('0'+version%10)))
		return nil
	}
	r := newRig(t, interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, obj client.Object, _ ...client.CreateOption) error {
			return answer(obj)
		},
		Update: func(_ context.Context, _ client.WithWatch, obj client.Object, _ ...client.UpdateOption) error {
			return answer(obj)
		},
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return nil },
	})
	r.have(t, parent(carrying(given(1))))
	return r
}

// TestRecalledContexts checks that the context of this process's last write is restored, but not on
// another object with the same name.
func TestRecalledContexts(t *testing.T) {
	cases := map[string]struct {
		reason string
		uid    types.UID // of the updated object
		before func(context.Context, client.Client) error
		kept   bool
	}{
		"the same":      {reason: "P3f", uid: "uid-1", kept: true},
		"uid not known": {reason: "an unknown UID counts as the same object", kept: true},
		"a namesake":    {reason: "the context of the other object is unknown", uid: "uid-2"},
		"deleted": {reason: "the object was deleted", before: func(ctx context.Context, c client.Client) error {
			return c.Delete(ctx, child())
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			uid := types.UID("uid-1")
			r := uninformed(t, &uid)
			first, second := child(), child()
			second.UID = tc.uid
			_, err := r.reconcile(t, func(ctx context.Context, c client.Client) (reconcile.Result, error) {
				if err := c.Create(ctx, first); err != nil {
					return reconcile.Result{}, err
				}
				if tc.before != nil {
					if err := tc.before(ctx, c); err != nil {
						return reconcile.Result{}, err
					}
				}
				return reconcile.Result{}, c.Update(ctx, second)
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := maps.Equal(first.Annotations, second.Annotations); got != tc.kept ||
				!tc.kept && len(second.Annotations) > 0 {
				t.Errorf(
					"%s: the second write carries %v, the first %v",
					tc.reason,
					second.Annotations,
					first.Annotations,
				)
			}
		})
	}
}

// TestPatchAfterARead checks that a patch has no new context without an informer. The object may
// have changed since the read, and the patch may be without effect. An update fails then.
func TestPatchAfterARead(t *testing.T) {
	for name, tc := range map[string]struct {
		write func(context.Context, client.Client, *corev1.Service) error
		want  bool
	}{
		"update": {func(ctx context.Context, c client.Client, obj *corev1.Service) error {
			obj.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
			return c.Update(ctx, obj)
		}, true},
		"patch": {func(ctx context.Context, c client.Client, obj *corev1.Service) error {
			data := []byte(`{"spec":{"sessionAffinity":"ClientIP"}}`)
			return c.Patch(ctx, obj, client.RawPatch(types.MergePatchType, data))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var sent string
			r := newRig(t, interceptor.Funcs{
				Get: func(
					_ context.Context, _ client.WithWatch, _ client.ObjectKey, obj client.Object, _ ...client.GetOption,
				) error {
					obj.SetUID("uid-1")
					obj.SetResourceVersion("5")
					return nil
				},
				Patch: func(
					_ context.Context, _ client.WithWatch, obj client.Object, p client.Patch, _ ...client.PatchOption,
				) error {
					data, err := p.Data(obj)
					sent = string(data)
					return err
				},
				Update: func(_ context.Context, _ client.WithWatch, obj client.Object, _ ...client.UpdateOption) error {
					data, err := json.Marshal(obj)
					sent = string(data)
					return err
				},
			})
			r.have(t, parent(carrying(given(1))))
			_, err := r.reconcile(t, func(ctx context.Context, c client.Client) (reconcile.Result, error) {
				obj := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "child"}}
				if err := c.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
					return reconcile.Result{}, err
				}
				return reconcile.Result{}, tc.write(ctx, c, obj)
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(sent, lifeline.ContextKey); sent == "" || got != tc.want {
				t.Errorf("sent %q with a context: %t, want %t", sent, got, tc.want)
			}
		})
	}
}

// TestHostileAnnotationStays checks that an annotation too large for the memory stays unchanged.
func TestHostileAnnotationStays(t *testing.T) {
	uid := types.UID("uid-1")
	r := uninformed(t, &uid)
	hostile := map[string]string{lifeline.BaggageKey: strings.Repeat("x", 200_000)}
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "child", Annotations: hostile}}
	for _, value := range []string{"1", "2"} {
		_, err := r.reconcile(t, func(ctx context.Context, c client.Client) (reconcile.Result, error) {
			obj.Data = map[string]string{"a": value}
			return reconcile.Result{}, c.Update(ctx, obj)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(hostile, obj.Annotations); diff != "" {
		t.Error("the writer's annotations changed")
	}
}
