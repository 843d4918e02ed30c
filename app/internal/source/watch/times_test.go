// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/normalize"
)

// TestImpossibleTimes: impossible times are dropped. Anyone with the right to create Events or
// write a status can choose their times.
func TestImpossibleTimes(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	const meta = `"metadata":{"name":"n","namespace":"default","uid":"u","resourceVersion":"7",` +
		`"creationTimestamp":"2026-01-02T03:04:00Z"},`
	c := &converter{
		storages:   new(storages),
		normalizer: normalize.New(normalize.NewKey(), normalize.Settings{}),
	}
	u := func(text string) *unstructured.Unstructured {
		t.Helper()
		out := &unstructured.Unstructured{}
		if err := out.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
		return out
	}
	e := c.observe(coreEvents, clusterStorage, u(`{"apiVersion":"v1","kind":"Event",`+meta+
		`"eventTime":"9999-12-31T23:59:59.000000Z","firstTimestamp":"0001-01-02T00:00:00Z",`+
		`"lastTimestamp":"2026-01-02T03:04:04Z"}`), now).Event
	if !e.Time.IsZero() || !e.First.IsZero() || e.Last.IsZero() {
		t.Errorf("the Event's times are %v, %v and %v", e.Time, e.First, e.Last)
	}
	state := c.observe(schema.GroupVersionResource{}, clusterStorage, u(`{"apiVersion":"x/v1","kind":"X",`+meta+
		`"status":{"conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2099-01-01T00:00:00Z"},`+
		`{"type":"Old","status":"True","lastTransitionTime":"2026-01-02T03:04:01Z"}]}}`), now).State
	if !state.Conditions[0].Since.IsZero() || state.Conditions[1].Since.IsZero() || state.Created.IsZero() {
		t.Errorf("the state is %+v", state)
	}
	if got := c.impossible.Load(); got != 3 {
		t.Errorf("%d impossible times were counted, want 3", got)
	}
}
