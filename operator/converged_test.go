// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func said(generation, observed int64, conditions ...metav1.Condition) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Generation: generation},
		Status:     policyv1.PodDisruptionBudgetStatus{ObservedGeneration: observed, Conditions: conditions},
	}
}

func is(kind string, status metav1.ConditionStatus, observed int64) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, ObservedGeneration: observed}
}

// inlined has the fields of its status in an inlined struct, like many operators.
type inlined struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Status            struct {
		common `json:",inline"`
	} `json:"status"`
}

type common struct {
	Seen  int64              `json:"observedGeneration"`
	State []metav1.Condition `json:"conditions"`
}

func (i *inlined) DeepCopyObject() runtime.Object { c := *i; return &c }

// own has a status with a custom JSON encoding.
type own struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Status            *ownStatus `json:"status"`
}

type ownStatus struct {
	ObservedGeneration int64 `json:"observedGeneration"`
	Conditions         []int `json:"conditions"`
}

func (ownStatus) MarshalJSON() ([]byte, error) {
	return []byte(`{"observedGeneration":2,"conditions":[{"type":"Ready","status":"True"}]}`), nil
}

func (o *own) DeepCopyObject() runtime.Object { c := *o; return &c }

// odder has conditions of another type.
type odder struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Status            struct {
		Conditions map[string]string `json:"conditions"`
	} `json:"status"`
}

func (o *odder) DeepCopyObject() runtime.Object { c := *o; return &c }

func TestConverged(t *testing.T) {
	inline := &inlined{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
	inline.Status.Seen, inline.Status.State = 2, []metav1.Condition{is("Ready", "True", 0)}
	cases := map[string]struct {
		reason string
		obj    client.Object
		want   bool
	}{
		"empty status":           {reason: "no conditions", obj: said(1, 0)},
		"has no status":          {reason: "the kind has no status", obj: &corev1.ConfigMap{}},
		"observed, no condition": {reason: "an observed generation is not enough", obj: said(1, 1)},
		"ready":                  {reason: "Ready is True", obj: said(2, 2, is("Ready", "True", 0)), want: true},
		"available": {
			reason: "Available is True",
			obj:    said(2, 2, is("Available", "True", 0)),
			want:   true,
		},
		"not ready": {reason: "Ready is False", obj: said(2, 2, is("Ready", "False", 0))},
		"unknown":   {reason: "Ready is Unknown", obj: said(2, 2, is("Ready", "Unknown", 0))},
		"available but not ready": {
			reason: "both count",
			obj:    said(2, 2, is("Available", "True", 0), is("Ready", "False", 0)),
		},
		"another condition": {reason: "the condition is not a standard one", obj: said(2, 2, is("Synced", "True", 0))},
		"another is false": {
			reason: "the condition is not a standard one",
			obj:    said(2, 2, is("Ready", "True", 0), is("Progressing", "False", 0)),
			want:   true,
		},
		"of an older generation": {
			reason: "the status is of an older state",
			obj:    said(2, 1, is("Ready", "True", 0)),
		},
		"condition of an older one": {
			reason: "the condition is of an older state",
			obj:    said(2, 2, is("Ready", "True", 1)),
		},
		"condition alone observes": {
			reason: "the condition has the generation",
			obj:    said(2, 0, is("Ready", "True", 2)),
			want:   true,
		},
		"of no generation, first": {
			reason: "the first generation is the only one",
			obj:    said(1, 0, is("Ready", "True", 0)),
			want:   true,
		},
		"of no generation, later": {
			reason: "the status may be older than the generation",
			obj:    said(2, 0, is("Ready", "True", 0)),
		},
		"a kind without generations": {
			reason: "there is no newer generation",
			obj: &corev1.Pod{
				Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: "Ready", Status: "True"}}},
			},
			want: true,
		},
		"a Deployment": {reason: "a built-in kind", obj: &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Generation: 3},
			Status: appsv1.DeploymentStatus{
				ObservedGeneration: 3,
				Conditions:         []appsv1.DeploymentCondition{{Type: "Available", Status: "True"}},
			},
		}, want: true},
		"inlined": {reason: "fields are found by their JSON names", obj: inline, want: true},
		"JSON of its own": {
			reason: "the JSON encoding counts",
			obj:    &own{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Status: &ownStatus{}},
			want:   true,
		},
		"nil status":     {reason: "no conditions", obj: &own{}},
		"odd conditions": {reason: "conditions of another type", obj: &odder{}},
		"only metadata":  {reason: "metadata has no status", obj: &metav1.PartialObjectMetadata{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := converged(tc.obj); got != tc.want {
				t.Errorf("%s: converged = %v", tc.reason, got)
			}
			text, err := json.Marshal(tc.obj)
			if err != nil {
				t.Fatal(err)
			}
			u := &unstructured.Unstructured{}
			if err := utiljson.Unmarshal(text, &u.Object); err != nil {
				t.Fatal(err)
			}
			if got := converged(u); got != tc.want {
				t.Errorf("%s: unstructured: converged = %v", tc.reason, got)
			}
		})
	}
}

// TestStatusIsReadWithoutJSON checks that the status is read without encoding the object, because
// every write needs it.
func TestStatusIsReadWithoutJSON(t *testing.T) {
	for _, obj := range []client.Object{said(1, 1), &appsv1.Deployment{}, &inlined{}} {
		if _, ok := statusOf(reflect.ValueOf(obj)); !ok {
			t.Errorf("%T: the status is not read by reflection", obj)
		}
	}
	obj := said(2, 2, is("Ready", "True", 2))
	converged(obj) // fill the cache for the type
	if n := testing.AllocsPerRun(100, func() { converged(obj) }); n > 8 {
		t.Errorf("%v allocations per call", n)
	}
}

func TestWrittenAt(t *testing.T) {
	at := func(s int64) metav1.Time { return metav1.Unix(s, 0) }
	entry := func(s int64) metav1.ManagedFieldsEntry { t := at(s); return metav1.ManagedFieldsEntry{Time: &t} }
	cases := map[string]struct {
		reason string
		obj    client.Object
		want   int64
		source string
	}{
		"created": {
			reason: "the end of the second of creation",
			obj: &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{
					CreationTimestamp: at(10),
					ManagedFields:     []metav1.ManagedFieldsEntry{entry(10)},
				},
			},
			want:   11,
			source: "object",
		},
		"stripped": {
			reason: "without managedFields the time is unknown",
			obj:    &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: at(10)}},
		},
		"changed": {
			reason: "the latest time counts",
			obj: &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{
					CreationTimestamp: at(10),
					ManagedFields:     []metav1.ManagedFieldsEntry{entry(30), entry(20), {}},
				},
			},
			want:   31,
			source: "object",
		},
		"not known": {reason: "the object has no time", obj: &corev1.ConfigMap{}},
		"nothing":   {reason: "there is no object"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, source := New().writtenAt(told(New(), tc.obj))
			if tc.want == 0 != got.IsZero() || tc.want != 0 && got.Unix() != tc.want || source != tc.source {
				t.Errorf("%s: got %v from %q", tc.reason, got, source)
			}
		})
	}
	k := New()
	k.scheme.Store(runtimeScheme(t))
	obj := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:         "demo",
			Name:              "x",
			ResourceVersion:   "7",
			CreationTimestamp: at(10),
			ManagedFields:     []metav1.ManagedFieldsEntry{entry(10)},
		},
	}
	exact := time.Unix(10, 250)
	k.writes.keep(
		objectKey{corev1.SchemeGroupVersion.WithKind("ConfigMap").GroupKind(), client.ObjectKeyFromObject(obj)},
		written{version: "7", at: exact},
	)
	if got, source := k.writtenAt(k.storing(obj)); !got.Equal(exact) || source != "request" {
		t.Errorf("write of this process: %v from %q", got, source)
	}
	obj.ResourceVersion = "8"
	if _, source := k.writtenAt(k.storing(obj)); source != "object" {
		t.Errorf("write of another process: from %q", source)
	}
}

func told(k *Kit, obj client.Object) stored {
	if obj == nil {
		return stored{}
	}
	return k.storing(obj)
}

func runtimeScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	if err := corev1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	return s
}
