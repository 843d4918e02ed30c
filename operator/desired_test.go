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
)

// rich is an object with one of each thing that JSON writes in a way of its own.
func rich() *appsv1.Deployment {
	return &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "web", Labels: map[string]string{"app": "web"}, CreationTimestamp: metav1.Unix(1, 0),
			Annotations: map[string]string{"team": "red", lifeline.ContextKey: "x", "deployment.kubernetes.io/revision": "3"},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](3),
			Strategy: appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: ptr.To(intstr.FromString("25%")), MaxUnavailable: ptr.To(intstr.FromInt32(1))}},
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
	for form, got := range map[string]state{"a Go type": stateOf(rich()), "unstructured": stateOf(u)} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", form, diff)
		}
		if got.desired().digest() != want.desired().digest() {
			t.Errorf("%s: another digest", form)
		}
	}
	wantMeta := map[string]any{"labels": map[string]any{"app": "web"}, "annotations": map[string]any{"team": "red"}}
	d := want.desired()
	if diff := cmp.Diff(wantMeta, d["metadata"]); diff != "" {
		t.Errorf("metadata of the desired state: -want +got\n%s", diff)
	}
	for _, k := range []string{"status", "kind", "apiVersion"} {
		if _, there := d[k]; there {
			t.Errorf("%s is no desired state", k)
		}
	}
}

func TestStateSharesNothing(t *testing.T) {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"a": nil, "l": []any{map[string]any{"x": 1.0}}}}}
	s := stateOf(u)
	s["spec"].(map[string]any)["l"].([]any)[0].(map[string]any)["x"] = "changed"
	want := map[string]any{"spec": map[string]any{"a": nil, "l": []any{map[string]any{"x": 1.0}}}}
	if diff := cmp.Diff(want, u.Object); diff != "" {
		t.Errorf("the object was written to: -want +got\n%s", diff)
	}
}

// odd is an object whose JSON is no object, or none at all.
type odd struct {
	runtime.Object
	Value any
}

func (o odd) MarshalJSON() ([]byte, error) { return json.Marshal(o.Value) }

// secretive has nothing that JSON could see.
type secretive struct {
	runtime.Object `json:"-"`
	text           string
	Fails          func() `json:"fails"`
}

func TestStateOfWhatIsNone(t *testing.T) {
	for name, obj := range map[string]any{
		"a list": odd{Value: []int{1}}, "not to be encoded": odd{Value: func() {}}, "nil": nil,
		"unexported": &secretive{text: "x"}, "no JSON number": &unstructured.Unstructured{Object: map[string]any{"a": math.NaN()}},
	} {
		if s := stateOf(obj); s != nil {
			t.Errorf("%s: got %v", name, s)
		}
	}
	// A Go int in an unstructured object is what somebody built by hand.
	if got := stateOf(&unstructured.Unstructured{Object: map[string]any{"a": 1}}); got["a"] != int64(1) {
		t.Errorf("got %v", got)
	}
}

func TestDigestTellsApart(t *testing.T) {
	states := map[string]state{
		"nothing":        nil,
		"a text":         {"a": "1"},
		"a number":       {"a": int64(1)},
		"another number": {"a": 1.5},
		"true":           {"a": true},
		"false":          {"a": false},
		"text true":      {"a": "true"},
		"a list":         {"a": []any{"1"}},
		"lists":          {"a": []any{[]any{"1"}}},
		"two":            {"a": []any{"1", "2"}},
		"two in one":     {"a": []any{"12"}},
		"a map":          {"a": map[string]any{"1": "2"}},
		"a null":         {"a": []any{nil}},
		"elsewhere":      {"b": "1"},
		"both":           {"a": "1", "b": "1"},
	}
	seen := map[lifeline.Digest]string{}
	for name, s := range states {
		d := s.digest()
		if was, twice := seen[d]; twice {
			t.Errorf("%s has the digest of %s", name, was)
		}
		seen[d] = name
		if d != s.digest() {
			t.Errorf("%s has two digests", name)
		}
	}
}

func TestWithin(t *testing.T) {
	cases := map[string]struct {
		reason string
		a, b   state
		want   bool
	}{
		"the same":         {reason: "trivially", a: small, b: small, want: true},
		"less":             {reason: "what is left out does not count", a: small, b: full, want: true},
		"more":             {reason: "it says what the other does not", a: full, b: small},
		"different":        {reason: "it says something else", a: other, b: full},
		"an empty map":     {reason: "it says nothing", a: state{"spec": map[string]any{}}, b: state{}, want: true},
		"an empty list":    {reason: "it says nothing", a: state{"l": []any{}}, b: state{}, want: true},
		"a shorter list":   {reason: "a list is wanted as a whole", a: state{"l": []any{"a"}}, b: state{"l": []any{"a", "b"}}},
		"within a list":    {reason: "what its items leave out does not count", a: state{"l": []any{map[string]any{"n": "x"}}}, b: state{"l": []any{map[string]any{"n": "x", "p": "TCP"}}}, want: true},
		"a map for a text": {reason: "another type", a: state{"v": map[string]any{"x": "y"}}, b: state{"v": "x"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.a.within(tc.b); got != tc.want {
				t.Errorf("%s: %v", tc.reason, got)
			}
		})
	}
}
