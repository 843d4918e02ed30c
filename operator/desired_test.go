// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/internal/supply"
)

// rich returns an object with each type that has a special JSON encoding.
func rich() *appsv1.Deployment {
	return &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{
			Name:              "web",
			Labels:            map[string]string{"app": "web"},
			CreationTimestamp: metav1.Unix(1, 0),
			Annotations: map[string]string{
				"team":                              "red",
				lifeline.ContextKey:                 "x",
				"deployment.kubernetes.io/revision": "3",
			},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](3),
			Strategy: appsv1.DeploymentStrategy{
				RollingUpdate: &appsv1.RollingUpdateDeployment{
					MaxSurge:       ptr.To(intstr.FromString("25%")),
					MaxUnavailable: ptr.To(intstr.FromInt32(1)),
				},
			},
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name:      "web",
				Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("500m")}},
			}}}},
		},
		Status: appsv1.DeploymentStatus{ObservedGeneration: 4},
	}
}

func TestStateOfAnyForm(t *testing.T) {
	text, err := json.Marshal(rich())
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	want := parseState(text)
	for form, got := range map[string]supply.State{"a Go type": stateOf(rich()), "unstructured": stateOf(u)} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", form, diff)
		}
		if got.Desired().Digest() != want.Desired().Digest() {
			t.Errorf("%s: the digest differs", form)
		}
	}
	wantMeta := map[string]any{"labels": map[string]any{"app": "web"}, "annotations": map[string]any{"team": "red"}}
	d := want.Desired()
	if diff := cmp.Diff(wantMeta, d["metadata"]); diff != "" {
		t.Errorf("metadata of the desired state: -want +got\n%s", diff)
	}
	for _, k := range []string{"status", "kind", "apiVersion"} {
		if _, there := d[k]; there {
			t.Errorf("%s is part of the desired state", k)
		}
	}
}

func TestStateSharesNothing(t *testing.T) {
	u := &unstructured.Unstructured{
		Object: map[string]any{"spec": map[string]any{"a": nil, "l": []any{map[string]any{"x": 1.0}}}},
	}
	s := stateOf(u)
	s["spec"].(map[string]any)["l"].([]any)[0].(map[string]any)["x"] = "changed"
	want := map[string]any{"spec": map[string]any{"a": nil, "l": []any{map[string]any{"x": 1.0}}}}
	if diff := cmp.Diff(want, u.Object); diff != "" {
		t.Errorf("the object changed: -want +got\n%s", diff)
	}
}

// odd is an object whose JSON is not an object, or whose encoding fails.
type odd struct {
	runtime.Object
	Value any
}

func (o odd) MarshalJSON() ([]byte, error) { return json.Marshal(o.Value) }

// secretive has no fields in JSON.
type secretive struct {
	runtime.Object `json:"-"`
	text           string
	Fails          func() `json:"fails"`
}

func TestStateOfWhatIsNone(t *testing.T) {
	for name, obj := range map[string]any{
		"a list": odd{Value: []int{1}}, "not to be encoded": odd{Value: func() {}}, "nil": nil,
		"unexported":     &secretive{text: "x"},
		"no JSON number": &unstructured.Unstructured{Object: map[string]any{"a": math.NaN()}},
	} {
		if s := stateOf(obj); s != nil {
			t.Errorf("%s: stateOf = %v, want nil", name, s)
		}
	}
	// A manually built unstructured object can contain a Go int.
	if got := stateOf(&unstructured.Unstructured{Object: map[string]any{"a": 1}}); got["a"] != int64(1) {
		t.Errorf("stateOf = %v, want an int64", got)
	}
}
