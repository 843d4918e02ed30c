// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	demov1alpha1 "github.com/kube-lifeline/lifeline/examples/head-operator/api/v1alpha1"
)

// key is the name of all objects in these tests.
var key = client.ObjectKey{Namespace: "default", Name: "web"}

// cluster is a fake API server that records writes.
type cluster struct {
	client.Client
	writes   []string
	conflict bool // the next status write conflicts
}

func newCluster(t *testing.T, objects ...client.Object) *cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(appsv1.AddToScheme(scheme), demov1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	c := &cluster{}
	note := func(verb string, obj client.Object) {
		gvk, err := c.GroupVersionKindFor(obj)
		if err != nil {
			t.Error(err)
		}
		c.writes = append(c.writes, verb+" "+gvk.Kind)
	}
	c.Client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&demov1alpha1.Head{}, &demov1alpha1.ChildA{}, &appsv1.Deployment{}).
		WithInterceptorFuncs(interceptor.Funcs{
			Create: func(
				ctx context.Context, in client.WithWatch, obj client.Object, opts ...client.CreateOption,
			) error {
				note("create", obj)
				return in.Create(ctx, obj, opts...)
			},
			Update: func(
				ctx context.Context, in client.WithWatch, obj client.Object, opts ...client.UpdateOption,
			) error {
				note("update", obj)
				return in.Update(ctx, obj, opts...)
			},
			SubResourceUpdate: func(
				ctx context.Context, in client.Client, sub string, obj client.Object,
				opts ...client.SubResourceUpdateOption,
			) error {
				if c.conflict {
					c.conflict = false
					return apierrors.NewConflict(
						schema.GroupResource{Resource: "anything"},
						obj.GetName(),
						errors.New("the object was modified"),
					)
				}
				note("update "+sub+" of", obj)
				return in.SubResource(sub).Update(ctx, obj, opts...)
			},
		}).Build()
	return c
}

// reconcile runs one reconcile of key and returns the writes.
func (c *cluster) reconcile(t *testing.T, r reconcile.Reconciler) []string {
	t.Helper()
	c.writes = nil
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
		t.Fatal(err)
	}
	return c.writes
}

// get returns the object with the name key.
func get[T client.Object](t *testing.T, c *cluster, obj T) T {
	t.Helper()
	if err := c.Get(t.Context(), key, obj); err != nil {
		t.Fatal(err)
	}
	return obj
}
