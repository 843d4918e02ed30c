// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/question"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// testDensity compares the counts with the list of the same traces.
func testDensity(t *testing.T, open Open) {
	s, b := open(t), batch(1)
	for n := 1; n <= 40; n++ {
		b.Finished = append(b.Finished, change(n, n%5+1))
		if n%7 == 0 {
			b.Finished[n-1].Outcome = span.Failed
		}
	}
	put(t, s, b)
	named := object.Ref{Name: "change-000004-000001"}
	for name, tc := range map[string]struct {
		query   store.Query
		buckets int
		count   int64
	}{
		"all":     {store.Query{Since: second(0), Until: second(60)}, 60, 40},
		"one":     {store.Query{Since: second(0), Until: second(60)}, 1, 40},
		"uneven":  {store.Query{Since: second(3), Until: second(30).Add(time.Millisecond)}, 7, 28},
		"failed":  {store.Query{Since: second(0), Until: second(60), Outcomes: []span.Outcome{span.Failed}}, 10, 5},
		"name":    {store.Query{Since: second(0), Until: second(60), Object: named}, 4, 1},
		"open":    {store.Query{Since: second(0), Until: second(60), Open: true}, 4, 0},
		"nothing": {store.Query{Since: second(100), Until: second(101)}, store.MaxBuckets, 0},
	} {
		t.Run(name, func(t *testing.T) {
			q := store.DensityQuery{Query: tc.query, Buckets: tc.buckets}
			got, err := s.Density(t.Context(), q)
			must(t, err)
			want, total := &store.Density{Buckets: make([]store.Bucket, tc.buckets)}, int64(0)
			for _, sum := range list(t, s, tc.query) {
				want.Add(&q, &sum)
			}
			for _, b := range got.Buckets {
				total += b.Count
			}
			if diff := gocmp.Diff(want, got); diff != "" || total != tc.count {
				t.Errorf("%d traces, want %d; -list +density:\n%s", total, tc.count, diff)
			}
		})
	}
	for _, text := range []string{
		`kind == "Pod"`, `name == "change-000004-000001"`, `outcome == "failed"`, `kind == "Nothing"`,
	} {
		t.Run(text, func(t *testing.T) {
			where, err := question.Parse(text)
			must(t, err)
			q := store.DensityQuery{
				Query: store.Query{Since: second(3), Until: second(30)}, Buckets: 9, Where: where, Now: second(60),
			}
			got, err := s.Density(t.Context(), q)
			must(t, err)
			find := q.Lifecycles()
			find.Traces, find.Limit = true, store.MaxPage
			page, err := s.Find(t.Context(), find)
			must(t, err)
			want := &store.Density{Buckets: make([]store.Bucket, q.Buckets)}
			for _, l := range page.Lifecycles {
				sums := list(t, s, store.Query{IDs: []trace.TraceID{l.Trace}, Since: q.Since, Until: q.Until})
				for i := range sums {
					want.Add(&q, &sums[i])
				}
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("-list +density:\n%s", diff)
			}
		})
	}
	for name, q := range map[string]store.DensityQuery{
		"no time":    {Buckets: 1},
		"no buckets": {Query: store.Query{Since: second(0), Until: second(1)}},
		"many":       {Query: store.Query{Since: second(0), Until: second(1)}, Buckets: store.MaxBuckets + 1},
		"centuries":  {Query: store.Query{Since: second(0).AddDate(-326, 0, 0), Until: second(1)}, Buckets: 1},
		"all times":  {Query: store.Query{Since: time.Unix(0, 0), Until: second(1).AddDate(7900, 0, 0)}, Buckets: 2},
		"backwards":  {Query: store.Query{Since: second(9), Until: second(1)}, Buckets: 3},
	} {
		if got, err := s.Density(t.Context(), q); err == nil {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}
