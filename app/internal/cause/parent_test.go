// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/placed"
)

// replicas returns a version with n desired and total existing replicas.
func replicas(n, total int32) *history.Version {
	return &history.Version{
		Intent: &history.Intent{}, Status: &history.Status{Workload: &observation.Workload{Replicas: n, Total: total}},
	}
}

// scaled is the reconciliation of a change of the number of replicas. A negative number before stands for
// a creation.
func scaled(rv uint64, from, to int32) *change.Reconciliation {
	w := &change.Write{RV: rv, Verb: history.Created, Version: replicas(to, 0)}
	if from >= 0 {
		w.Verb, w.Previous = history.Updated, replicas(from, from)
	}
	return &change.Reconciliation{Verb: w.Verb, Took: kind.Scale, Writes: []*change.Write{w}}
}

// TestSlots: a Pod belongs to the change that raised the number of replicas to its own (rule D3).
func TestSlots(t *testing.T) {
	create, up, down, again := scaled(1, -1, 2), scaled(2, 2, 4), scaled(3, 4, 1), scaled(4, 1, 3)
	found := scaled(1, -1, 3)
	found.Writes[0].Reconstructed, found.Verb = true, history.Updated
	found.Writes[0].Version = replicas(3, 2)
	for name, tc := range map[string]struct {
		reason string
		recs   []*change.Reconciliation
		n      int
		want   *change.Reconciliation
	}{
		"Created":   {"the creation wants the first two", []*change.Reconciliation{create, up}, 2, create},
		"Raised":    {"the raise wants the third", []*change.Reconciliation{create, up}, 3, up},
		"Decreased": {"a decrease leaves the first slot", []*change.Reconciliation{create, up, down, again}, 1, create},
		"Again":     {"a decrease ends the slots above", []*change.Reconciliation{create, up, down, again}, 2, again},
		"Surplus":   {"nothing wants it: the newest", []*change.Reconciliation{create, up}, 5, up},
		"Older":     {"it was wanted before the observer began", []*change.Reconciliation{up, down}, 1, nil},
		"Found":     {"a change found under way wants the missing Pod", []*change.Reconciliation{found}, 3, found},
		"FoundOlder": {
			"the found change has the older slots, too", []*change.Reconciliation{found, scaled(2, 3, 5)}, 1, found,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ofSlot(tc.recs, tc.n); got != tc.want {
				t.Errorf("%s: got %+v, want %+v", tc.reason, got, tc.want)
			}
		})
	}
}

// TestOrdinal: the name of a Pod of a StatefulSet ends with its ordinal.
func TestOrdinal(t *testing.T) {
	for name, want := range map[string]int{"db-0": 0, "my-db-12": 12, "db-x": -1, "db-": -1, "db": -1, "db--1": 1} {
		got, ok := ordinal(name)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("the ordinal of %q is %d, want %d", name, got, want)
		}
	}
}

// TestCompletionIndex: the name of an indexed Pod of a Job has its index after the name of the Job.
func TestCompletionIndex(t *testing.T) {
	for name, want := range map[string]int{
		"sums-0-x": 0, "sums-12-x": 12, "sums-x": -1, "sums-3": -1, "sums-x-y": -1, "other-0-x": -1, "sums--1-x": -1,
	} {
		pod := &change.Timeline{Record: history.Record{Ref: object.Ref{Name: name}}}
		got, ok := completionIndex(pod, &object.Owner{Name: "sums"})
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("the index of %q is %d, want %d", name, got, want)
		}
	}
}

// TestFoundScaling: only a change that was found under way, of unknown parts, becomes a scaling.
func TestFoundScaling(t *testing.T) {
	unknown := func() *change.Reconciliation {
		r := scaled(1, 2, 3)
		r.Writes[0].Reconstructed, r.Took, r.Lineage = true, kind.Everything, &change.Lineage{}
		r.Timeline = &change.Timeline{}
		return r
	}
	if r := scaled(1, 2, 3); foundScaling([]*change.Reconciliation{r}) != nil {
		t.Error("a change that was observed is taken for one that was found")
	}
	r := unknown()
	by := scaled(2, 3, 3)
	by.Lineage, by.Timeline = &change.Lineage{}, r.Timeline
	by.Writes[0].Reconciliation, r.Superseded = by, by.Writes[0]
	if got := foundScaling([]*change.Reconciliation{r, by}); got != r {
		t.Errorf("got %+v, want the found change", got)
	}
	if r.Superseded == nil || r.Took != kind.Everything {
		t.Errorf("the search for a cause changed %+v", r)
	}
	s := &Scene{Placed: &placed.Changes{Lines: map[trace.TraceID]*change.Lineage{}}}
	Apply(s, &Cause{Line: r.Lineage, rescales: r})
	if r.Superseded != nil || r.Parts != kind.Scale {
		t.Errorf("got %+v, want the found change, not superseded, with the replicas alone", r)
	}
	if len(r.Links) != 1 || len(by.Links) != 1 {
		t.Errorf("want one link each way, got %d and %d", len(r.Links), len(by.Links))
	}
}
