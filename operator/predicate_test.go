// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/operator"
)

func TestPredicate(t *testing.T) {
	object := func(change ...func(*corev1.ConfigMap)) *corev1.ConfigMap {
		obj := child()
		obj.ResourceVersion = "2"
		for _, c := range change {
			c(obj)
		}
		return obj
	}
	with := func(n byte, more ...string) func(*corev1.ConfigMap) {
		return func(o *corev1.ConfigMap) {
			o.Annotations = annotated(headClaimed(n)).Annotations
			for i := 0; i < len(more); i += 2 {
				o.Annotations[more[i]] = more[i+1]
			}
		}
	}
	before := func(o *corev1.ConfigMap) { o.ResourceVersion = "1" }
	managed := func(o *corev1.ConfigMap) { o.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "head"}} }
	data := func(o *corev1.ConfigMap) { o.Data["a"] = "2" }
	deployed := func(n byte, generation int64, version string) *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
			Annotations: annotated(headClaimed(n)).Annotations, Generation: generation, ResourceVersion: version,
		}}
	}
	untyped := func(annotations map[string]any, version string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"kind":     "Head",
			"metadata": map[string]any{"annotations": annotations, "resourceVersion": version},
			"spec":     map[string]any{"size": int64(1)},
		}}
	}
	cases := map[string]struct {
		reason   string
		old, now client.Object
		want     bool
	}{
		"a new context":   {reason: "the update is dropped", old: object(before), now: object(with(1))},
		"another context": {reason: "the update is dropped", old: object(before, with(1)), now: object(with(2))},
		"a context gone":  {reason: "the update is dropped", old: object(before, with(1)), now: object()},
		"only its tracestate": {
			reason: "the update is dropped",
			old:    object(before, with(1)),
			now:    object(with(1, lifeline.StateKey, "vendor=1")),
		},
		"of another convention": {
			reason: "the update is dropped",
			old:    object(before),
			now:    object(func(o *corev1.ConfigMap) { o.Annotations = map[string]string{"uber-trace-id": "1:2:0:1"} }),
		},
		"and managed fields": {
			reason: "every write changes managedFields",
			old:    object(before),
			now:    object(with(1), managed),
		},
		"and data": {
			reason: "the state changed",
			old:    object(before),
			now:    object(with(1), data),
			want:   true,
		},
		"and another annotation": {
			reason: "another annotation may be relevant",
			old:    object(before),
			now:    object(with(1, "team", "red")),
			want:   true,
		},
		"data alone": {reason: "the state changed", old: object(before), now: object(data), want: true},
		"managed fields alone": {
			reason: "only context changes are dropped",
			old:    object(before),
			now:    object(managed),
			want:   true,
		},
		"a resync": {
			reason: "a resync passes",
			old:    object(with(1)),
			now:    object(with(1)),
			want:   true,
		},
		"a Deployment's": {
			reason: "annotations change a Deployment's generation",
			old:    deployed(1, 1, "1"),
			now:    deployed(2, 2, "2"),
		},
		"no old object": {reason: "incomplete events pass", now: object(), want: true},
		"no new object": {reason: "incomplete events pass", old: object(), want: true},
		"of any kind": {
			reason: "the update is dropped",
			old:    untyped(nil, "1"),
			now:    untyped(map[string]any{lifeline.ContextKey: "x"}, "2"),
		},
		"of any kind, and another": {
			reason: "another annotation may be relevant",
			old:    untyped(nil, "1"),
			now:    untyped(map[string]any{lifeline.ContextKey: "x", "team": "red"}, "2"),
			want:   true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := operator.Predicate().Update(
				event.UpdateEvent{ObjectOld: tc.old, ObjectNew: tc.now},
			); got != tc.want {
				t.Errorf("%s: passes = %v", tc.reason, got)
			}
		})
	}
	p := operator.Predicate()
	if !p.Create(event.CreateEvent{}) || !p.Delete(event.DeleteEvent{}) || !p.Generic(event.GenericEvent{}) {
		t.Error("an event other than an update was dropped")
	}
}
