// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestOffers(t *testing.T) {
	f := newFakeAPI(t)
	var warned []string
	got, err := Offers(t.Context(), Config{
		REST: f.config(), Exclude: []schema.GroupResource{{Resource: "secrets"}, {Group: "apps"}},
		Warn: func(format string, _ ...any) { warned = append(warned, format) },
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []Offered{
		{schema.GroupResource{Resource: "nodes"}, "Node", false},
		{schema.GroupResource{Resource: "pods"}, "Pod", true},
		{
			schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"},
			"CustomResourceDefinition",
			false,
		},
		{schema.GroupResource{Group: "events.k8s.io", Resource: "events"}, "Event", true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(warned) > 0 {
		t.Errorf("warned: %s", strings.Join(warned, "; "))
	}
}
