// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/question"
	"github.com/kube-lifeline/lifeline/app/internal/question/questiontest"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// sorted returns lifecycles that are sorted by their start in the order of q, with their ranks.
func sorted(all []store.Lifecycle, q store.FindQuery) []store.Lifecycle {
	out := slices.Clone(all)
	for i := range out {
		out[i].Rank.Value, out[i].Rank.Known = q.Sort.Of(&out[i].Lifecycle, q.Now)
		if !out[i].Rank.Known {
			out[i].Rank.Value = 0
		}
	}
	slices.SortStableFunc(out, func(a, b store.Lifecycle) int {
		switch {
		case !a.Rank.Known || !b.Rank.Known:
			return cmp.Compare(missing(a), missing(b))
		case q.Reverse:
			return cmp.Compare(a.Rank.Value, b.Rank.Value)
		}
		return cmp.Compare(b.Rank.Value, a.Rank.Value)
	})
	return out
}

func missing(l store.Lifecycle) int {
	if l.Rank.Known {
		return 0
	}
	return 1
}

// testFindSorted: the order is that of the values of all that match, also over pages.
func testFindSorted(t *testing.T, reading Reading) {
	b := batch(1)
	b.Finished = mixed()
	r, all := reading(t, b), lifecycles(b.Finished)
	year := store.FindQuery{Now: questionTime, Since: spantest.Epoch.Add(-365 * 24 * time.Hour)}
	for name, tc := range map[string]struct {
		reason, sort, where string
		scope               store.Scope
	}{
		"duration":  {sort: "duration"},
		"pulls":     {reason: "some have no value, and come last", sort: "phase.pull"},
		"condition": {sort: "phase.startup", where: `kind == "Pod" && volumes > 1`},
		"ties":      {reason: "few values", sort: "volumes"},
		"size":      {sort: "size(images)"},
		"steps":     {reason: "a value that a page does not have", sort: "end - ended.pull"},
		"now":       {reason: "the time of the first page", sort: "now - start"},
		"none":      {reason: "no value at all", sort: "phase.address"},
		"choice":    {sort: `kind == "Pod" ? volumes : size(labels)`},
		"scope":     {sort: "phase.pull", scope: store.Scope{Namespaces: []string{"team-01", "team-02", "default"}}},
		"all but some": {
			sort: "duration", scope: store.Scope{Without: []store.Guarded{{Kind: "Node"}}},
		},
	} {
		for _, reverse := range []bool{false, true} {
			q := year
			q.Where, q.Scope, q.Sort, q.Reverse = where(t, tc.where), tc.scope, rank(t, tc.sort), reverse
			want := sorted(selected(lifecycles(permitted(r, b.Finished, q.Scope)), q), q)
			if len(want) < 2 || len(want) > len(all) {
				t.Fatalf("%s: %d lifecycles", name, len(want))
			}
			for _, limit := range []int{0, 1, 7} {
				q.Limit = limit
				if d := sameLifecycles(want, find(t, r, q)); d != "" {
					t.Fatalf("%s (%s), reverse %t, limit %d: -want +got:\n%s", name, tc.reason, reverse, limit, d)
				}
			}
		}
	}
	plain, err := r.Find(t.Context(), store.FindQuery{Now: questionTime, Limit: 1})
	must(t, err)
	q := year
	q.Sort, q.After = rank(t, "duration"), plain.Next
	if _, err := r.Find(t.Context(), q); !errors.Is(err, store.ErrCursor) {
		t.Errorf("the cursor of another order: %v", err)
	}
	q.After, q.Traces = "", true
	if _, err := r.Find(t.Context(), q); err == nil {
		t.Error("one lifecycle a trace has another order")
	}
}

// testFindSortedRandom: random values give the same order in memory.
func testFindSortedRandom(t *testing.T, reading Reading) {
	b := batch(1)
	b.Finished = mixed()
	r, all := reading(t, b), lifecycles(b.Finished)
	random := rand.New(rand.NewPCG(9, 0)) //nolint:gosec // a repeatable test
	some, rounds := 0, 200
	if testing.Short() {
		rounds = 50
	}
	for range rounds {
		of, err := question.ParseNumber(questiontest.Number(random, random.IntN(4)))
		if err != nil {
			continue // too long
		}
		q := store.FindQuery{
			Now: questionTime, Since: spantest.Epoch.Add(-1000 * time.Hour), Sort: of, Reverse: random.IntN(2) == 0,
			Limit: random.IntN(40),
		}
		want := sorted(selected(all, q), q)
		if d := sameLifecycles(want, find(t, r, q)); d != "" {
			t.Fatalf("%s\n-want +got:\n%s", of, d)
		}
		if len(want) > 1 && want[0].Rank != want[len(want)-1].Rank {
			some++
		}
	}
	if some < rounds/10 {
		t.Errorf("only %d values distinguish lifecycles", some)
	}
}

// testGroupKeys: several keys give one group for each combination, and the elements of a list one each.
func testGroupKeys(t *testing.T, reading Reading) {
	b := batch(1)
	b.Finished = mixed()
	r, all := reading(t, b), lifecycles(b.Finished)
	zone, err := time.LoadLocation("Asia/Kathmandu") // 5:45 before UTC
	must(t, err)
	q := store.GroupQuery{
		FindQuery: store.FindQuery{Now: questionTime, Since: spantest.Epoch.Add(-365 * 24 * time.Hour)},
		Zone:      zone,
	}
	images := func(l *store.Lifecycle) []string {
		if list, _ := l.Values["images"].([]string); len(list) > 0 {
			return list
		}
		return []string{""}
	}
	one := func(of func(*store.Lifecycle) string) func(*store.Lifecycle) []string {
		return func(l *store.Lifecycle) []string { return []string{of(l)} }
	}
	for name, tc := range map[string]struct {
		keys   []string
		values []func(*store.Lifecycle) []string
	}{
		"images": {[]string{"image"}, []func(*store.Lifecycle) []string{images}},
		"image and node": {[]string{"image", "node"}, []func(*store.Lifecycle) []string{
			images, one(func(l *store.Lifecycle) string { return l.Text("node") }),
		}},
		"author and week": {[]string{"author", "week"}, []func(*store.Lifecycle) []string{
			one(func(l *store.Lifecycle) string { return l.Text("author") }),
			one(func(l *store.Lifecycle) string { return store.Week.Name(l.Start.In(zone)) }),
		}},
		"hour and outcome": {[]string{"hour", "outcome"}, []func(*store.Lifecycle) []string{
			one(func(l *store.Lifecycle) string { return l.Start.In(zone).Format("2006-01-02T15:00Z07:00") }),
			one(func(l *store.Lifecycle) string { return l.Outcome }),
		}},
	} {
		counts := map[string]int64{}
		total := int64(0)
		for _, l := range selected(all, q.FindQuery) {
			first := tc.values[0](&l)
			for _, a := range first {
				if len(tc.values) == 1 {
					counts[a]++
					continue
				}
				for _, b := range tc.values[1](&l) {
					counts[a+"|"+b]++
				}
			}
			total += int64(len(first))
		}
		q.By = by(t, tc.keys...)
		page, err := r.Group(t.Context(), q)
		must(t, err)
		got, sum := map[string]int64{}, int64(0)
		for _, g := range page.Groups {
			key := g.Values[0]
			if len(g.Values) > 1 {
				key += "|" + g.Values[1]
			}
			got[key] = g.Count
			sum += g.Count
		}
		if d := gocmp.Diff(counts, got); d != "" || sum != total || len(counts) < 3 {
			t.Errorf("%s: %d of %d; -want +got:\n%s", name, sum, total, d)
		}
		if !slices.IsSortedFunc(page.Groups, q.CompareGroups) {
			t.Errorf("%s: not in the order of the query", name)
		}
	}
	q.By = by(t, "node", "kind", "day", "week")
	if _, err := r.Group(t.Context(), q); err == nil {
		t.Error("four keys give no error")
	}
	q.By, q.Order = by(t, "node"), store.OrderQuantile(0)
	if _, err := r.Group(t.Context(), q); err == nil {
		t.Error("the order of a quantile that is not computed gives no error")
	}
}

// testGroupPeriods: hours, days and weeks follow the clock of the time zone, also when it changes.
func testGroupPeriods(t *testing.T, reading Reading) {
	b := batch(1)
	h := History{
		Seed: 3, Start: time.Date(2026, 10, 24, 20, 0, 0, 0, time.UTC), Every: 17 * time.Minute, Pods: 1,
	}
	for n := range 40 {
		b.Finished = append(b.Finished, h.Trace(n))
	}
	r, all := reading(t, b), lifecycles(b.Finished)
	for _, name := range []string{"UTC", "Europe/Berlin", "Asia/Kathmandu", "Australia/Lord_Howe"} {
		zone, err := time.LoadLocation(name)
		must(t, err)
		for _, period := range store.Periods() {
			q := store.GroupQuery{
				FindQuery: store.FindQuery{Now: questionTime, Since: h.Start.Add(-time.Hour)}, Zone: zone,
				By: by(t, string(period)),
			}
			g, err := store.NewGrouping(&q)
			must(t, err)
			for i := range all {
				g.Add(&all[i])
			}
			got, err := r.Group(t.Context(), q)
			must(t, err)
			want := g.Page().Groups
			if d := gocmp.Diff(want, got.Groups); d != "" || period == store.Hour && len(want) < 11 {
				t.Errorf("%s in %s: -in memory +got:\n%s", period, name, d)
			}
		}
	}
}
