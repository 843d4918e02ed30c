// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/internal/supply"
)

// Predicate drops updates that changed only a trace context, so they cause no reconcile. All other
// events pass, including resyncs. NewControllerManagedBy adds it to each watch.
func Predicate() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld == nil || e.ObjectNew == nil || !onlyContext(e.ObjectOld, e.ObjectNew)
	}}
}

// onlyContext reports whether two versions of an object differ only in their contexts.
func onlyContext(before, after client.Object) bool {
	if before.GetResourceVersion() == after.GetResourceVersion() || sameContext(before, after) {
		return false
	}
	return reflect.DeepEqual(withoutContext(before), withoutContext(after))
}

// sameContext reports whether two versions have the same context annotations.
func sameContext(before, after client.Object) bool {
	a, b := before.GetAnnotations(), after.GetAnnotations()
	for k, v := range b {
		if a[k] != v && supply.IsContext(k) {
			return false
		}
	}
	for k := range a {
		if _, kept := b[k]; !kept && supply.IsContext(k) {
			return false
		}
	}
	return true
}

// withoutContext returns a copy of an object without contexts, and without the fields that every
// write changes. For a Deployment, that includes the generation: annotations change it.
func withoutContext(obj client.Object) client.Object {
	c, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return obj
	}
	lifeline.Remove(c)
	if len(c.GetAnnotations()) == 0 {
		c.SetAnnotations(nil)
	}
	c.SetResourceVersion("")
	c.SetManagedFields([]metav1.ManagedFieldsEntry(nil))
	// Objects from a typed informer have no kind.
	if _, is := c.(*appsv1.Deployment); is || supply.IsDeployment(identity(c.GetObjectKind().GroupVersionKind(), c)) {
		c.SetGeneration(0)
	}
	return c
}
