// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/rights"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// TestPartOfOpen: hidden work changes no summary of the visible part, neither its time nor a length.
func TestPartOfOpen(t *testing.T) {
	b := spantest.New("partly")
	run := b.Run("kubectl apply -f web.yaml", 0, 4210)
	rs := b.ReplicaSet(b.Deployment(run, 5, 4210), 60, 4180)
	b.Pod(rs, "web-6cf-x7", 90, 4170)
	hidden := b.Pod(rs, "hidden", 90, 4170)
	b.Trace.Root().End, b.Trace.Root().Outcome = span.Time{}, ""
	sees := rights.Sees{Object: func(o object.Ref) bool { return o.Name != "hidden" }}
	gate := store.NewGate(nil, func(_ store.Scope, of *span.Trace) *span.Trace { return rights.Project(of, sees) })
	access := gate.For(store.Scope{Namespaces: []string{"default"}})
	seen := func(asOf time.Time) store.Summary {
		return *access.Unseal(store.Seal(b.Trace, true, asOf)).Summary()
	}
	last := b.Trace.Root().Start.Add(time.Minute)
	before := seen(last)
	hidden.Events = append(hidden.Events, span.Event{Time: last.Add(time.Minute), Name: "BackOff"})
	hidden.End = span.Time{Time: last.Add(time.Minute)}
	after := seen(last.Add(time.Minute))
	if !before.AsOf.Equal(after.AsOf) || before.Duration != after.Duration || before.State() != after.State() {
		t.Errorf("before: %s, %s, %s; after: %s, %s, %s", before.AsOf, before.Duration, before.State(),
			after.AsOf, after.Duration, after.State())
	}
	hidden.Object.Name = "web-6cf-x8"
	if both := seen(last.Add(time.Hour)); !both.AsOf.Equal(last.Add(time.Hour)) {
		t.Errorf("another visible part has the time %s of the one before", both.AsOf)
	}
}
