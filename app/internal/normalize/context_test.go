// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// told is an object's context in an observation.
type told struct{ Parent, State, Convention, GenerateName string }

func toldOf(s *observation.State) told {
	return told{Parent: s.TraceParent, State: s.TraceState, Convention: s.TraceConvention, GenerateName: s.GenerateName}
}

// both normalizes an object with the annotations, from the whole object and from its metadata.
func both(t *testing.T, annotations map[string]any) (whole, metadata told) {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Head",
		"metadata": map[string]any{
			"uid": "u", "resourceVersion": "7", "generateName": "head-", "name": "head-x7k2p",
			"annotations": annotations,
		},
	}}
	whole = toldOf(normalizer.Object(u))
	text, err := json.Marshal(u.Object["metadata"])
	if err != nil {
		t.Fatal(err)
	}
	var m metav1.PartialObjectMetadata
	if err := json.Unmarshal(text, &m.ObjectMeta); err != nil {
		t.Fatal(err)
	}
	return whole, toldOf(normalizer.Metadata(object.Kind{Group: "example.com", Version: "v1", Kind: "Head"}, &m))
}

func TestEveryConventionIsRead(t *testing.T) {
	state, err := trace.ParseTraceState("lifeline=s:00f067aa0ba902b7,other=1")
	if err != nil {
		t.Fatal(err)
	}
	sc := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{
			0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6, 0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36,
		},
		SpanID: trace.SpanID{
			0, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7,
		}, TraceFlags: trace.FlagsSampled, TraceState: state,
	})
	for _, c := range lifeline.Conventions() {
		t.Run(c.String(), func(t *testing.T) {
			annotations := map[string]any{
				"kubectl.kubernetes.io/last-applied-configuration": strings.Repeat("topsecret", 100),
			}
			for k, v := range c.Encode(sc, baggage.Baggage{}) {
				annotations[k] = v
			}
			want := told{Parent: parent, State: state.String(), Convention: c.String(), GenerateName: "head-"}
			if c == lifeline.Jaeger {
				want.State = "" // metadata has no field for it
			}
			whole, metadata := both(t, annotations)
			if diff := cmp.Diff(want, whole); diff != "" {
				t.Errorf("the whole object: -want +got:\n%s", diff)
			}
			if diff := cmp.Diff(want, metadata); diff != "" {
				t.Errorf("its metadata: -want +got:\n%s", diff)
			}
		})
	}
}

func TestContextOnAnObject(t *testing.T) {
	other := strings.Replace(parent, "4bf92f35", "0bf92f35", 1)
	cases := map[string]struct {
		reason      string
		annotations map[string]any
		want        told
	}{
		"Two": {
			reason:      "the library's order of conventions decides",
			annotations: map[string]any{"traceparent": other, lifeline.ContextKey: parent},
			want:        told{Parent: parent, Convention: "default", GenerateName: "head-"},
		},
		"FirstBroken": {
			reason:      "a malformed context counts as missing",
			annotations: map[string]any{"traceparent": other, lifeline.ContextKey: "00-0-0-00"},
			want:        told{Parent: other, Convention: "w3c", GenerateName: "head-"},
		},
		"None": {
			reason:      "without a context nothing is kept, not even generateName",
			annotations: map[string]any{"note": parent},
		},
		"Hostile": {
			reason: "values may be of any length",
			annotations: map[string]any{
				lifeline.ContextKey: parent, lifeline.StateKey: "a=" + strings.Repeat("b", 1<<20),
				"tekton.dev/taskrunSpanContext": strings.Repeat(
					"{", 1<<20,
				), "uber-trace-id": strings.Repeat(":", 1<<20),
			},
			want: told{Parent: parent, Convention: "default", GenerateName: "head-"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			whole, metadata := both(t, tc.annotations)
			if diff := cmp.Diff(tc.want, whole); diff != "" {
				t.Errorf("%s: the whole object: -want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.want, metadata); diff != "" {
				t.Errorf("%s: its metadata: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestAnnotationsAreAJSONObject(t *testing.T) {
	whole := toldOf(
		normalizer.Object(parse(t, `{"apiVersion":"x/v1","kind":"X","metadata":{"uid":"u","resourceVersion":"1",
		"annotations":{"traceparent":7,"trace.kubernetes.io/context":{"a":1}}}}`)),
	)
	if diff := cmp.Diff(told{}, whole); diff != "" {
		t.Errorf("annotations that are not strings: -want +got:\n%s", diff)
	}
}
