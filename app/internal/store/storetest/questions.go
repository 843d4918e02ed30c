// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/question"
	"github.com/kube-lifeline/lifeline/app/internal/question/questiontest"
	"github.com/kube-lifeline/lifeline/app/internal/rights"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Reading creates a reader of batches for one test.
type Reading func(t testing.TB, batches ...*store.Batch) store.Reader

// ReadingOf returns the Reading of an archive.
func ReadingOf(open Open) Reading {
	return func(t testing.TB, batches ...*store.Batch) store.Reader {
		t.Helper()
		s := open(t)
		for _, b := range batches {
			put(t, s, b)
		}
		return s
	}
}

// Questions tests the answers to questions about lifecycles and spans: those of an archive, and of
// others that read one. It compares them with a simple evaluation in memory.
func Questions(t *testing.T, reading Reading) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Reading){
		"Find": testFind, "FindTies": testFindTies, "FindRandom": testFindRandom, "FindVersions": testFindVersions,
		"FindSorted": testFindSorted, "FindSortedRandom": testFindSortedRandom,
		"Group": testGroup, "GroupKeys": testGroupKeys, "GroupPeriods": testGroupPeriods, "GroupChanges": testGroupChanges,
		"GroupRandom": testGroupRandom, "Search": testSearch, "Names": testNames,
		"Ended": testQuestionEnded, "Rollups": testRollups, "Samples": testSamples,
	} {
		t.Run(name, func(t *testing.T) { test(t, reading) })
	}
}

// questionTime is the time of questions.
var questionTime = spantest.Epoch.Add(time.Hour)

// mixed returns finished traces of several kinds: rollouts, one with spans of other components, an
// unfinished one, one without lifecycles, and one with hostile texts.
func mixed() []*span.Trace {
	h := History{Seed: 2, Start: spantest.Epoch.Add(-30 * 24 * time.Hour), Every: 24 * time.Hour, Pods: 3}
	out := []*span.Trace{
		spantest.Joined(),
		spantest.Rollout(),
		spantest.Hostile(),
		unfinish(change(3, 3)),
		everything(),
	}
	for n := range 30 {
		out = append(out, h.Trace(n))
	}
	for _, s := range out[7].Spans {
		s.Object.Namespace = ""
	}
	return out
}

// lifecycles returns what an archive has of finished traces, in the order of Find.
func lifecycles(traces []*span.Trace) []store.Lifecycle {
	var out []store.Lifecycle
	for _, t := range traces {
		out = append(out, store.LifecyclesOf(t, asOf)...)
	}
	store.Finish(out)
	slices.SortFunc(out, newestFirst)
	return out
}

// newestFirst is the order of Find.
func newestFirst(a, b store.Lifecycle) int {
	return cmp.Or(
		b.Start.Compare(a.Start),
		slices.Compare(b.Trace[:], a.Trace[:]),
		slices.Compare(b.Span[:], a.Span[:]),
	)
}

// selected returns those of sorted lifecycles that match q, without its scope and its page.
func selected(all []store.Lifecycle, q store.FindQuery) []store.Lifecycle {
	since := q.Since
	if q.Since.IsZero() && q.Until.IsZero() && (q.Where == nil || !q.Where.Uses("start")) {
		since = q.Now.Add(-store.DefaultRange)
	}
	var out []store.Lifecycle
	seen := map[trace.TraceID]bool{}
	for i := range all {
		l := &all[i]
		if !since.IsZero() && l.Start.Before(since) || !q.Until.IsZero() && !l.Start.Before(q.Until) ||
			q.Namespace != "" && l.Object.Namespace != q.Namespace ||
			q.Where != nil && !q.Where.Matches(&l.Lifecycle, q.Now) || q.Traces && seen[l.Trace] {
			continue
		}
		seen[l.Trace] = true
		out = append(out, *l)
	}
	return out
}

// permitted returns what a Reader has of traces within a scope: whole traces, or also parts.
func permitted(r store.Reader, traces []*span.Trace, s store.Scope) []*span.Trace {
	if _, isStored := r.(store.Stored); isStored || s.Key() == "" {
		return slices.DeleteFunc(slices.Clone(traces), func(t *span.Trace) bool { return !s.PermitsTrace(t) })
	}
	var out []*span.Trace
	for _, t := range traces {
		if part := rights.Project(t, rights.Sees{Object: s.Permits}); part != nil {
			out = append(out, part)
		}
	}
	return out
}

// find returns all pages of a query.
func find(t testing.TB, r store.Reader, q store.FindQuery) []store.Lifecycle {
	t.Helper()
	var out []store.Lifecycle
	for pages := 0; ; pages++ {
		page, err := r.Find(t.Context(), q)
		if err != nil {
			t.Fatalf("%v: %v", q.Where, err)
		}
		if n := store.PageLength(q.Limit); len(page.Lifecycles) > n || page.Incomplete != "" || pages > 1000 {
			t.Fatalf("%d lifecycles on page %d of %d; %q", len(page.Lifecycles), pages, n, page.Incomplete)
		}
		out = append(out, page.Lifecycles...)
		if q.After = page.Next; q.After == "" {
			return out
		}
	}
}

// sameLifecycles compares pages of Find, which have no steps, with lifecycles.
func sameLifecycles(want, got []store.Lifecycle) string {
	want = slices.Clone(want)
	for i := range want {
		want[i].Steps = nil
	}
	if reflect.DeepEqual(want, got) { // cmp is slow, and needed only to show
		return ""
	}
	return gocmp.Diff(want, got, cmpopts.EquateEmpty())
}

// parsed parses a text; an empty one is the zero value.
func parsed[T any](t testing.TB, text string, parse func(string) (T, error)) (out T) {
	t.Helper()
	if text == "" {
		return out
	}
	out, err := parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return out
}

func length(t testing.TB, text string) *question.Length {
	t.Helper()
	return parsed(t, text, question.ParseLength)
}

// by returns the keys of groups.
func by(t testing.TB, texts ...string) []store.By {
	t.Helper()
	var out []store.By
	for _, text := range texts {
		out = append(out, parsed(t, text, store.ParseBy))
	}
	return out
}

// rank parses a value to sort by.
func rank(t testing.TB, text string) *question.Number {
	t.Helper()
	return parsed(t, text, question.ParseNumber)
}

func where(t testing.TB, text string) *question.Question {
	t.Helper()
	return parsed(t, text, question.Parse)
}

func testFind(t *testing.T, reading Reading) {
	b := batch(1)
	b.Finished = mixed()
	r, all := reading(t, b), lifecycles(b.Finished)
	day := 24 * time.Hour
	ago := func(days int) time.Time { return spantest.Epoch.Add(-time.Duration(days) * day) }
	for name, tc := range map[string]struct {
		reason, where string
		q             store.FindQuery
		none          bool
	}{
		"all":           {reason: "the bound is before all", q: store.FindQuery{Since: ago(40)}},
		"no condition":  {reason: "it has the default range"},
		"default range": {where: `kind != ""`},
		"range of its own": {
			reason: "the condition uses start", where: `start > timestamp("2026-02-10T00:00:00Z")`,
		},
		"since": {where: `kind == "Pod"`, q: store.FindQuery{Since: ago(20)}},
		"until": {where: `kind == "Pod"`, q: store.FindQuery{Until: ago(20)}},
		"both":  {q: store.FindQuery{Since: ago(20), Until: ago(10)}},
		"in":    {where: `kind == "Pod"`, q: store.FindQuery{Since: ago(40), Namespace: "team-01"}},
		"proposal": {
			where: `kind == "Pod" && phase.startup > duration("5s") && ` +
				`images.exists(i, i.contains("e")) && volumes > 1`,
			q: store.FindQuery{Since: ago(40)},
		},
		"labels": {
			where: `labels["app.kubernetes.io/name"] == workload || "x" in labels || size(labels) == 1`,
			q:     store.FindQuery{Since: ago(40)},
		},
		"unfinished": {
			reason: "an open span of a finished trace", where: `outcome == "unfinished"`,
			q: store.FindQuery{Since: ago(40)},
		},
		"heals and trace": {where: `heals == "" && trace.contains("1")`, q: store.FindQuery{Since: ago(40)}},
		"traces":          {reason: "one of each trace", q: store.FindQuery{Traces: true, Since: ago(40)}},
		"open": {
			reason: "an archive has no open traces", where: `kind == "Pod"`, q: store.FindQuery{Open: true}, none: true,
		},
		"traces where": {
			reason: "the latest that matches", where: `kind == "Pod" && volumes > 2`,
			q: store.FindQuery{Traces: true, Since: ago(40)},
		},
		"namespaces": {
			q: store.FindQuery{
				Since: ago(40), Scope: store.Scope{Namespaces: []string{"team-01", "team-02", "default"}},
			},
		},
		"no namespace": {q: store.FindQuery{Since: ago(40), Scope: store.Scope{Namespaces: []string{""}}}},
		"nothing": {
			reason: "no namespace is permitted",
			q:      store.FindQuery{Since: ago(40), Scope: store.Scope{Namespaces: []string{}}}, none: true,
		},
		"other cluster": {
			reason: "not that of the archive",
			q:      store.FindQuery{Since: ago(40), Scope: store.Scope{Clusters: []string{"other"}}}, none: true,
		},
		"scope and or": {
			reason: "a condition cannot leave the scope", where: `kind == "Pod" || true`,
			q: store.FindQuery{Since: ago(40), Scope: store.Scope{Namespaces: []string{"team-01"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			q := tc.q
			q.Where, q.Now = where(t, tc.where), questionTime
			var want []store.Lifecycle
			if !tc.none {
				if want = selected(lifecycles(permitted(r, b.Finished, q.Scope)), q); len(want) == 0 ||
					name != "all" && name != "traces" && len(want) == len(all) {
					t.Fatalf("%d of %d lifecycles are a bad test", len(want), len(all))
				}
			}
			for _, limit := range []int{0, 1, 7} {
				q.Limit = limit
				if d := sameLifecycles(want, find(t, r, q)); d != "" {
					t.Fatalf("limit %d: -want +got:\n%s", limit, d)
				}
			}
		})
	}
	for text, want := range map[string]time.Time{
		"": questionTime.Add(-store.DefaultRange), `kind == "Pod"`: questionTime.Add(-store.DefaultRange),
		"start < now": {},
	} {
		page, err := r.Find(t.Context(), store.FindQuery{Where: where(t, text), Now: questionTime})
		if err != nil || !page.Since.Equal(want) {
			t.Errorf("%q: the bound is %v, want %s; %v", text, page, want, err)
		}
	}
	if _, err := r.Find(t.Context(), store.FindQuery{After: "x"}); !errors.Is(err, store.ErrCursor) {
		t.Errorf("a bad cursor: %v", err)
	}
}

// testFindTies: many lifecycles start at the same moment.
func testFindTies(t *testing.T, reading Reading) {
	b := batch(1)
	for n := range 12 {
		c := change(n, 4)
		for _, s := range c.Spans {
			s.Start.Time = second(n / 4)
		}
		b.Finished = append(b.Finished, c)
	}
	r, all := reading(t, b), lifecycles(b.Finished)
	for _, traces := range []bool{false, true} {
		for limit := 1; limit < 12; limit++ {
			q := store.FindQuery{Limit: limit, Traces: traces, Now: questionTime}
			if d := sameLifecycles(selected(all, q), find(t, r, q)); d != "" {
				t.Fatalf("limit %d, traces %t: -want +got:\n%s", limit, traces, d)
			}
		}
	}
}

// testFindRandom: random questions have the same answer in memory.
func testFindRandom(t *testing.T, reading Reading) {
	b := batch(1)
	b.Finished = mixed()
	r, all := reading(t, b), lifecycles(b.Finished)
	random := rand.New(rand.NewPCG(3, 0)) //nolint:gosec // a repeatable test
	some, rounds := 0, 300
	if testing.Short() {
		rounds = 75
	}
	for range rounds {
		q, err := question.Parse(questiontest.Expression(random, 1+random.IntN(4)))
		if err != nil {
			continue // too long
		}
		query := store.FindQuery{Where: q, Now: questionTime, Since: spantest.Epoch.Add(-1000 * time.Hour)}
		want := selected(all, query)
		if d := sameLifecycles(want, find(t, r, query)); d != "" {
			t.Fatalf("%s\n-want +got:\n%s", q, d)
		}
		if n := len(want); n > 0 && n < len(all) {
			some++
		}
	}
	if some < rounds/15 {
		t.Errorf("only %d questions distinguish lifecycles", some)
	}
}

// testFindVersions: the lifecycles are those of the valid version and of the spans that only another
// version has. Amendments have none.
func testFindVersions(t *testing.T, reading Reading) {
	first, second := change(1, 3), change(1, 4)
	for _, s := range first.Spans {
		s.Outcome = span.Failed
	}
	late := change(1, 5)
	late.Spans = late.Spans[4:]
	joined := *first
	joined.Spans = append(slices.Clone(first.Spans), second.Spans[3])
	one, two, three := batch(1), batch(2), batch(3)
	one.Finished, two.Finished, three.Amendments = []*span.Trace{first}, []*span.Trace{second}, []*span.Trace{late}
	for name, batches := range map[string][]*store.Batch{
		"in order": {one, two, three}, "reversed": {three, two, one}, "repeated": {two, one, one, three, two},
	} {
		t.Run(name, func(t *testing.T) {
			r := reading(t, batches...)
			want := lifecycles([]*span.Trace{&joined})
			if d := sameLifecycles(want, find(t, r, store.FindQuery{Now: questionTime})); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			ids, err := r.Search(t.Context(), store.SpanQuery{
				Attributes: map[string]string{store.AttributeObjectName: late.Spans[0].Object.Name},
			})
			if err != nil || len(ids) != 1 {
				t.Errorf("the trace of an amendment: %v, %v", ids, err)
			}
		})
	}
}

// podsByName is a GroupQuery.By.
const podsByName = `kind == "Pod" ? labels["app.kubernetes.io/name"] : "other"`

func testGroup(t *testing.T, reading Reading) {
	b := batch(1)
	b.Finished = mixed()
	r, all := reading(t, b), lifecycles(b.Finished)
	zone, err := time.LoadLocation("Europe/Berlin")
	must(t, err)
	year := store.FindQuery{Since: spantest.Epoch.Add(-365 * 24 * time.Hour)}
	ofName := by(t, `labels["app.kubernetes.io/name"]`)
	for name, tc := range map[string]struct {
		of string
		q  store.GroupQuery
	}{
		"count":     {q: store.GroupQuery{FindQuery: year}},
		"durations": {"duration", store.GroupQuery{Quantiles: []float64{0, 0.5, 0.9, 1}, FindQuery: year}},
		"namespaces": {
			"phase.startup", store.GroupQuery{By: by(t, "namespace"), Quantiles: []float64{0.5}, FindQuery: year},
		},
		"outcomes": {"", store.GroupQuery{By: by(t, "outcome"), FindQuery: year}},
		"heals": {
			"phase.condition", store.GroupQuery{By: by(t, "heals"), Quantiles: []float64{0.5}, FindQuery: year},
		},
		"traces":     {"phase.pull", store.GroupQuery{By: by(t, "trace"), Quantiles: []float64{0.99}, FindQuery: year}},
		"days":       {"phase.pull", store.GroupQuery{By: by(t, "day"), Quantiles: []float64{0.25}, FindQuery: year}},
		"local days": {"", store.GroupQuery{By: by(t, "day"), Zone: zone, FindQuery: year}},
		"labels": {
			"phase.pull",
			store.GroupQuery{By: ofName, Quantiles: []float64{0.5}, FindQuery: year},
		},
		"no label": {"", store.GroupQuery{By: by(t, "labels.app"), FindQuery: year}},
		"labels, steps": {
			`end - ended.pull + duration("1s")`,
			store.GroupQuery{By: ofName, Quantiles: []float64{0, 0.9}, FindQuery: year},
		},
		"one of two texts": {
			`end - ended.pull`,
			store.GroupQuery{By: by(t, podsByName), Quantiles: []float64{1}, FindQuery: year},
		},
		"no bound": {"", store.GroupQuery{By: by(t, "day"), Zone: zone}},
		"steps": {
			"ended.readiness - began.pull",
			store.GroupQuery{By: by(t, "workload"), Quantiles: []float64{0, 0.5, 0.99}, FindQuery: year},
		},
		"steps counted": {"end - ended.pull", store.GroupQuery{By: by(t, "kind"), FindQuery: year}},
		"with constants": {
			`(kind == "Pod" ? now - began.schedule : duration("1m")) - duration("2s")`,
			store.GroupQuery{By: by(t, "day"), Zone: zone, Quantiles: []float64{0.1, 0.9}, FindQuery: year},
		},
		"missing": {"ended.address - began.address", store.GroupQuery{Quantiles: []float64{0.5}, FindQuery: year}},
	} {
		t.Run(name, func(t *testing.T) {
			q := tc.q
			q.Of, q.Now = length(t, tc.of), questionTime
			for _, text := range []string{"", `kind == "Pod" && start > timestamp("2000-01-01T00:00:00Z")`} {
				q.Where = where(t, text)
				page, err := r.Group(t.Context(), q)
				must(t, err)
				matching := selected(all, q.FindQuery)
				want := grouped(matching, q)
				if d := gocmp.Diff(want, page.Groups, cmpopts.EquateEmpty()); d != "" || page.More != 0 {
					t.Errorf("%s: -want +got:\n%s", text, d)
				}
				if _, isStored := r.(store.Stored); !isStored {
					continue
				}
				part := q // a half of the traces is not stored, as it were
				for _, l := range matching {
					if l.Trace[0]%2 == 0 {
						part.Also, part.Scope.Except = append(part.Also, l), append(part.Scope.Except, l.Trace)
					}
				}
				page, err = r.Group(t.Context(), part)
				must(t, err)
				d := gocmp.Diff(want, page.Groups, cmpopts.EquateEmpty())
				if d != "" || len(part.Also) == 0 && len(want) > 1 {
					t.Errorf("%s with further lifecycles: -want +got:\n%s", text, d)
				}
			}
		})
	}
	for name, q := range map[string]store.GroupQuery{
		"no fraction": {Quantiles: []float64{2}}, "not a number": {Quantiles: []float64{math.NaN()}},
	} {
		if _, err := r.Group(t.Context(), q); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// testGroupChanges: a change counts once in each group with a lifecycle of it, and only with a state in question.
func testGroupChanges(t *testing.T, reading Reading) {
	b := batch(1)
	b.Finished = mixed()
	r, all := reading(t, b), lifecycles(b.Finished)
	states := map[trace.TraceID]span.State{}
	for _, of := range b.Finished {
		sum := store.Summarize(of, questionTime)
		states[of.ID] = sum.State()
	}
	for name, q := range map[string]store.GroupQuery{
		"kinds":         {By: by(t, "kind")},
		"states":        {By: by(t, "state")},
		"of one state":  {By: by(t, "kind"), States: []span.State{span.State(span.Failed)}},
		"of two states": {By: by(t, "state"), States: []span.State{span.Stuck, span.State(span.Failed)}},
		"of open ones":  {By: by(t, "kind"), States: []span.State{span.Running, span.Stuck}},
	} {
		for _, text := range []string{"", `kind == "Pod"`} {
			q.FindQuery = store.FindQuery{
				Since: spantest.Epoch.Add(-365 * 24 * time.Hour), Now: questionTime, Where: where(t, text),
			}
			q.Changes = true
			seen, counts := map[string]bool{}, map[string]int64{}
			found := selected(all, q.FindQuery)
			for i := range found {
				l := &found[i]
				value := string(states[l.Trace])
				if !q.By[0].State {
					value = l.Object.Kind.Kind
				}
				key := value + l.Trace.String()
				if len(q.States) > 0 && !slices.Contains(q.States, states[l.Trace]) || seen[key] {
					continue
				}
				seen[key] = true
				counts[value]++
			}
			page, err := r.Group(t.Context(), q)
			must(t, err)
			got := map[string]int64{}
			for _, g := range page.Groups {
				got[g.Values[0]] = g.Count
			}
			if d := gocmp.Diff(counts, got); d != "" {
				t.Errorf("%s, %s: -want +got:\n%s", name, text, d)
			}
		}
	}
	for name, q := range map[string]store.GroupQuery{
		"lifecycles have no state":   {By: by(t, "state")},
		"lifecycles of no state":     {States: []span.State{span.Stuck}},
		"changes have no quantiles ": {Changes: true, Of: length(t, "duration")},
	} {
		if _, err := r.Group(t.Context(), q); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// testGroupRandom: the statistics of random lengths by random keys are those of store.Grouping, which computes them in
// memory.
func testGroupRandom(t *testing.T, reading Reading) {
	b := batch(1)
	b.Finished = mixed()
	r, all := reading(t, b), lifecycles(b.Finished)
	random := rand.New(rand.NewPCG(5, 0)) //nolint:gosec // a repeatable test
	zone, err := time.LoadLocation("Europe/Berlin")
	must(t, err)
	some, rounds := 0, 400
	if testing.Short() {
		rounds = 100
	}
	for range rounds {
		of, err := question.ParseLength(questiontest.Length(random, random.IntN(4)))
		if err != nil {
			continue // too long
		}
		q := store.GroupQuery{
			FindQuery: store.FindQuery{Now: questionTime, Since: spantest.Epoch.Add(-1000 * time.Hour)},
			Of:        of, Quantiles: []float64{0, 0.5, 1}, Order: store.GroupOrder(random.IntN(5) - 1), Zone: zone,
		}
		var texts []string
		for range random.IntN(store.MaxKeys + 1) {
			text := questiontest.Text(random, random.IntN(3))
			if random.IntN(2) == 0 {
				text = []string{"image", "field", "hour", "day", "week", "author", "node"}[random.IntN(7)]
			}
			if by, err := store.ParseBy(text); err == nil { // others are too long
				q.By, texts = append(q.By, by), append(texts, text)
			}
		}
		g, err := store.NewGrouping(&q)
		must(t, err)
		for i := range all {
			g.Add(&all[i])
		}
		want := g.Page()
		got, err := r.Group(t.Context(), q)
		if err != nil {
			t.Fatalf("%s: %v", of, err)
		}
		if d := gocmp.Diff(want.Groups, got.Groups, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("%s by %q in order %d: -in memory +got:\n%s", of, texts, q.Order, d)
		}
		for _, one := range want.Groups {
			if one.With > 0 && one.With < one.Count {
				some++
			}
		}
	}
	if some < rounds/20 {
		t.Errorf("only %d groups have a length of some lifecycles", some)
	}
}

// grouped computes the groups of lifecycles by at most one key.
func grouped(all []store.Lifecycle, q store.GroupQuery) []store.Group {
	groups, lengths := map[string]*store.Group{}, map[string][]time.Duration{}
	for i := range all {
		l := &all[i]
		value := valueOf(l, q)
		g := groups[value]
		if g == nil {
			g = &store.Group{Values: []string{value}}
			if len(q.By) == 0 {
				g.Values = nil
			}
			groups[value] = g
		}
		g.Count++
		if q.Of == nil {
			continue
		}
		if d, is := q.Of.Of(&l.Lifecycle, q.Now); is {
			g.With++
			lengths[value] = append(lengths[value], d)
		}
	}
	var out []store.Group
	for value, g := range groups {
		list := lengths[value]
		slices.Sort(list)
		for _, f := range q.Quantiles {
			if len(list) > 0 {
				g.Quantiles = append(g.Quantiles, list[max(int(math.Ceil(f*float64(len(list)))), 1)-1])
			}
		}
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b store.Group) int {
		if len(q.By) > 0 && q.By[0].Period != "" {
			return cmp.Compare(b.Values[0], a.Values[0])
		}
		return cmp.Or(cmp.Compare(b.Count, a.Count), slices.Compare(a.Values, b.Values))
	})
	return out
}

// valueOf returns the value of the only key of q for a lifecycle.
func valueOf(l *store.Lifecycle, q store.GroupQuery) string {
	if len(q.By) == 0 {
		return ""
	}
	of := q.By[0]
	if of.Period == store.Day {
		zone := q.Zone
		if zone == nil {
			zone = time.UTC
		}
		return l.Start.In(zone).Format(time.DateOnly)
	}
	switch text := of.Text.String(); text {
	case "labels.app": // absent
		return ""
	case `labels["app.kubernetes.io/name"]`:
		return application(l)
	case podsByName:
		if l.Object.Kind.Kind == "Pod" {
			return application(l)
		}
		return "other"
	default:
		value, _ := fieldNamed(text).Stored(&l.Lifecycle).(string)
		return value
	}
}

// application returns the label of the application.
func application(l *store.Lifecycle) string {
	labels, _ := l.Values["labels"].(map[string]string)
	return labels["app.kubernetes.io/name"]
}

func fieldNamed(name string) *question.Field {
	for _, f := range question.Fields() {
		if f.Name == name {
			return &f
		}
	}
	return &question.Field{}
}

func testQuestionEnded(t *testing.T, reading Reading) {
	b := batch(1)
	b.Finished = mixed()
	r := reading(t, b)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Find(ctx, store.FindQuery{}); !errors.Is(err, context.Canceled) {
		t.Errorf("find: %v", err)
	}
	if _, err := r.Group(ctx, store.GroupQuery{}); !errors.Is(err, context.Canceled) {
		t.Errorf("group: %v", err)
	}
	if _, err := r.Search(ctx, store.SpanQuery{}); !errors.Is(err, context.Canceled) {
		t.Errorf("search: %v", err)
	}
}
