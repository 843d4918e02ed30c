// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/view/viewtest"
)

// TestHiddenWork: a version with hidden work alone has the time of the version before, in lists and as a trace.
func TestHiddenWork(t *testing.T) {
	open := func(end time.Time) *span.Trace {
		b := spantest.New("partly")
		deployment := b.Deployment(b.Run("kubectl apply -f web.yaml", 0, 4210), 5, 4210)
		hidden := b.Pod(b.ReplicaSet(deployment, 60, 4180), "hidden", 90, 4170)
		hidden.Object.Namespace, hidden.End = "other", span.Time{Time: end}
		b.Trace.Root().End, b.Trace.Root().Outcome = span.Time{}, ""
		return b.Trace
	}
	v, within := viewtest.New(t), store.Scope{Namespaces: []string{"default"}}
	seen := func(at time.Time) (list, one time.Time) {
		t.Helper()
		of := open(at)
		v.Put(t, at, viewtest.Traces{Open: []*span.Trace{of}})
		page, err := v.List(t.Context(), store.Query{Scope: within, Limit: 1})
		if err != nil || len(page.Traces) != 1 {
			t.Fatalf("got %v, %v", page, err)
		}
		part, err := store.NewGate(v, v.Project).For(within).Trace(t.Context(), of.ID)
		if err != nil {
			t.Fatal(err)
		}
		return page.Traces[0].AsOf, part.Summary().AsOf
	}
	first := spantest.Epoch.Add(time.Minute)
	for _, at := range []time.Time{first, first.Add(time.Minute), first.Add(time.Hour)} {
		if list, one := seen(at); !list.Equal(first) || !one.Equal(first) {
			t.Errorf("at %s: the list has the time %s, and the trace %s", at, list, one)
		}
	}
}
