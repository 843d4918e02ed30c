// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

func testWrites(t *testing.T, open Open) {
	s, b := open(t), batch(1)
	apply := spantest.Apply()
	at, adopted := spantest.At(70).Time, spantest.Ref("", "Pod", "adopted")
	spantest.Write(apply.Spans[3], span.Write{
		Of: &adopted, Verb: "update", Part: "ownership", ResourceVersion: 12,
		Start: at, End: at, Source: span.TimeObject,
	})
	b.Finished = []*span.Trace{apply, change(1, 2), change(2, 2)}
	typed := b.Finished[2].Spans[1]
	typed.Facts = &span.Facts{Writes: []span.Write{typedWrite(second(2))}}
	put(t, s, b)

	var want []store.Write
	for _, tr := range b.Finished {
		for _, one := range tr.Spans {
			want = append(want, store.WritesOf(one)...)
		}
	}
	slices.SortFunc(want, func(a, b store.Write) int { return b.End.Compare(a.End) })
	for _, limit := range []int{1, 2, 100} {
		var got []store.Write
		q := store.WriteQuery{Limit: limit}
		for range want {
			page, err := s.Writes(t.Context(), q)
			must(t, err)
			got = append(got, page.Writes...)
			if q.After = page.Next; page.Next == "" {
				break
			}
		}
		if d := diff(want, got); d != "" {
			t.Errorf("in pages of %d (-want +got):\n%s", limit, d)
		}
	}
	adopted.Version = ""
	other := want[slices.IndexFunc(want, func(w store.Write) bool { return w.Part == "ownership" })]
	if other.Object != adopted || other.Source != span.TimeObject {
		t.Errorf("the write to another object is %+v", other)
	}
	for name, tc := range map[string]struct {
		query store.WriteQuery
		want  int
	}{
		"since":     {store.WriteQuery{Since: second(1)}, 3},
		"until":     {store.WriteQuery{Until: second(1)}, 3},
		"trace":     {store.WriteQuery{TraceID: apply.ID}, 3},
		"object":    {store.WriteQuery{Object: object.Ref{UID: "uid-web"}}, 2},
		"kind":      {store.WriteQuery{Object: object.Ref{Kind: object.Kind{Kind: "Deployment"}}}, 4},
		"adopted":   {store.WriteQuery{Object: object.Ref{Name: "adopted"}}, 1},
		"actor":     {store.WriteQuery{Actor: "kubectl"}, 4},
		"part":      {store.WriteQuery{Part: "desired"}, 3},
		"typed":     {store.WriteQuery{Object: object.Ref{Namespace: "shop", UID: "uid-hpa"}}, 1},
		"no match":  {store.WriteQuery{TraceID: trace.TraceID{1}}, 0},
		"namespace": {store.WriteQuery{Object: object.Ref{Namespace: "default"}, Part: "ownership"}, 1},
	} {
		page, err := s.Writes(t.Context(), tc.query)
		must(t, err)
		if len(page.Writes) != tc.want || page.Next != "" {
			t.Errorf("%s: got %d writes, want %d: %+v", name, len(page.Writes), tc.want, page.Writes)
		}
	}
}

// typedWrite returns a write with every field.
func typedWrite(at time.Time) span.Write {
	return span.Write{
		Of: &object.Ref{
			Kind:      object.Kind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
			Namespace: "shop", Name: "web", UID: "uid-hpa",
		},
		Verb: "patch", Part: "desired", Subresource: "scale", ResourceVersion: 9, BasedOn: 8, Generation: 3,
		Actor: "hpa", User: "system:hpa", AuditID: "audit", Start: at, End: at.Add(time.Millisecond),
		Source: span.TimeAudit,
		Changes: []span.FieldChange{
			{Path: "spec.replicas", Operation: span.FieldReplaced, From: "1", To: "2"},
			{Path: "metadata.labels[a/b]", Operation: span.FieldAdded, To: "\"x\""},
			{Path: "spec.paused", Operation: span.FieldRemoved},
		},
		MoreChanges: 5,
	}
}

func testCauses(t *testing.T, open Open) {
	s, b := open(t), batch(1)
	b.Finished = append(spantest.Healing(), everything())
	put(t, s, b)
	for _, of := range b.Finished {
		var want []store.Cause
		for _, tr := range b.Finished {
			for _, one := range tr.Spans {
				for _, edge := range store.CausesOf(one) {
					if tr == of || edge.OfTrace == of.ID {
						want = append(want, edge)
					}
				}
			}
		}
		got, err := s.Causes(t.Context(), store.Scope{}, of.ID)
		must(t, err)
		store.SortCauses(of.ID, want)
		if d := diff(want, got); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
	}
	if got, err := s.Causes(t.Context(), store.Scope{}, trace.TraceID{1}); err != nil || len(got) != 0 {
		t.Errorf("causes of an unknown trace: %v, %v", got, err)
	}
	if got, err := s.Causes(t.Context(), store.Scope{}, trace.TraceID{7}); err != nil || len(got) != 2 {
		t.Errorf("edges into a trace that is not stored: %v, %v", got, err)
	}
}

func testBetween(t *testing.T, open Open) {
	s, b := open(t), batch(1)
	id := func(n int) trace.TraceID { return change(n, 1).ID }
	var all []trace.TraceID
	for n := 1; n <= 9; n++ {
		b.Finished = append(b.Finished, change(n, 2))
		all = append(all, id(n))
	}
	slices.SortFunc(all, func(a, b trace.TraceID) int { return bytes.Compare(a[:], b[:]) })
	b.Amendments = []*span.Trace{amendment(change(10, 2), "of an unknown trace")}
	put(t, s, b)
	lowest, highest := trace.TraceID{}, trace.TraceID(bytes.Repeat([]byte{255}, 16))
	for name, tc := range map[string]struct {
		low, high trace.TraceID
		limit     int
		want      []trace.TraceID
	}{
		"all":       {lowest, highest, 100, all},
		"limited":   {lowest, highest, 3, all[:3]},
		"inclusive": {all[2], all[4], 100, all[2:5]},
		"one":       {all[7], all[7], 2, all[7:8]},
		"none":      {all[7], all[6], 2, nil},
	} {
		got, err := s.Between(t.Context(), store.Scope{}, tc.low, tc.high, tc.limit)
		if d := diff(tc.want, got); err != nil || d != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, d)
		}
	}
}
