// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/question"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/view/viewtest"
)

func where(t *testing.T, text string) *question.Question {
	t.Helper()
	q, err := question.Parse(text)
	must(t, err)
	return q
}

func lengthOf(t *testing.T, text string) *question.Length {
	t.Helper()
	l, err := question.ParseLength(text)
	must(t, err)
	return l
}

func by(t *testing.T, texts ...string) []store.By {
	t.Helper()
	var out []store.By
	for _, text := range texts {
		of, err := store.ParseBy(text)
		must(t, err)
		out = append(out, of)
	}
	return out
}

// finds reads all pages, and calls between after each.
func finds(t *testing.T, from store.Finder, q store.FindQuery, between func()) (out []store.Lifecycle) {
	t.Helper()
	for {
		page, err := from.Find(t.Context(), q)
		must(t, err)
		if page.Incomplete != "" || len(page.Lifecycles) > store.PageLength(q.Limit) {
			t.Fatalf("a page of %d lifecycles: %q", len(page.Lifecycles), page.Incomplete)
		}
		out = append(out, page.Lifecycles...)
		if q.After = page.Next; q.After == "" {
			return out
		}
		between()
	}
}

// anyQuestion returns a random query. Each matches a lifecycle in all places or in none.
func anyQuestion(t *testing.T, random *rand.Rand) store.FindQuery {
	t.Helper()
	q := store.FindQuery{Now: asOf, Limit: 1 + random.IntN(9), Traces: random.IntN(3) == 0}
	if text := []string{
		"", `kind == "Pod"`, `kind == "Pod" && phase.startup > duration("2s")`,
		`name.endsWith("1") || verb == "create"`, `start >= now - duration("1h") && outcome == "converged"`,
		`images.exists(i, i.contains("nginx"))`, `kind == "X"`,
		`ended.readiness - began.pull > duration("2s") && end < now`,
	}[random.IntN(8)]; text != "" {
		q.Where = where(t, text)
	}
	if q.Traces = q.Traces && random.IntN(2) == 0; !q.Traces && random.IntN(2) == 0 {
		texts := []string{"phase.pull", "duration", "volumes", "end - ended.pull"}
		of, err := question.ParseNumber(texts[random.IntN(len(texts))])
		must(t, err)
		q.Sort, q.Reverse = of, random.IntN(2) == 0
	}
	if random.IntN(5) == 0 {
		q.Since, q.Until = spantest.At(200).Time, spantest.At(400).Time
	}
	q.Scope = anyScope(random)
	return q
}

// TestFindAnyPlace moves traces at random through the three places. In between, questions have the
// answers of an archive that has everything. Pages are read while traces move.
func TestFindAnyPlace(t *testing.T) {
	rounds, found := 80, 0
	if testing.Short() {
		rounds = 12
	}
	random := rand.New(rand.NewPCG(11, 1))
	const n = 18
	r := newRoom(t)
	for _, tr := range some(random, n) {
		r.add(tr)
		r.move(len(r.at) - 1)
	}
	step := func() {
		for range random.IntN(4) {
			r.move(random.IntN(n))
		}
	}
	for round := range rounds {
		if random.IntN(3) == 0 {
			r.amend(random.IntN(n))
		}
		if random.IntN(8) == 0 {
			r.reopen()
		}
		q := anyQuestion(t, random)
		all := q
		all.Scope = store.Scope{}
		want := finds(t, r.permitted(q.Scope), all, nothing)
		found += len(want)
		if d := cmp.Diff(want, finds(t, r.view, q, step), cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("round %d, %v %+v: -oracle +view:\n%s", round, q.Where, q, d)
		}
	}
	if found < rounds {
		t.Errorf("only %d lifecycles in %d rounds", found, rounds)
	}
}

// TestGroupOnce moves finished traces from the log to the archive during questions. Each lifecycle
// counts once; open ones do not.
func TestGroupOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	const n, opened = 20, 4
	r := newRoom(t)
	for _, tr := range some(random, n) {
		r.add(tr)
		for range 2 { // into the log
			r.move(len(r.at) - 1)
		}
	}
	for _, tr := range some(rand.New(rand.NewPCG(4, 4)), n+opened)[n:] {
		for _, s := range tr.Spans {
			if s.IsReconciliation() {
				s.End, s.Outcome = span.Time{}, ""
			}
		}
		r.traces, r.at = append(r.traces, tr), append(r.at, open)
	}
	r.publish(nil)
	q := store.GroupQuery{
		FindQuery: store.FindQuery{Now: asOf, Where: where(t, `kind == "Pod"`)},
		By:        by(t, "name"), Of: lengthOf(t, "ended.readiness - began.pull"), Quantiles: []float64{0, 0.5, 1},
	}
	want, err := r.oracle.Group(t.Context(), q)
	must(t, err)
	for _, l := range finds(t, r.view, q.FindQuery, nothing) {
		if l.Outcome == "" {
			want.Open++
		}
	}
	if want.Open == 0 || len(want.Groups) != 4 || want.Groups[0].With == 0 {
		t.Fatalf("%+v", want)
	}
	asked := make(chan *store.GroupPage, n)
	for i := range n {
		go func() {
			got, err := r.view.Group(t.Context(), q)
			for errors.Is(err, store.ErrBusy) {
				got, err = r.view.Group(t.Context(), q)
			}
			if err != nil {
				t.Error(err)
			}
			asked <- got
		}()
		r.move(i)
	}
	for range n {
		if d := cmp.Diff(want, <-asked); d != "" {
			t.Fatalf("-oracle +view:\n%s", d)
		}
	}
}

// TestGroupChanges: open changes and those of the archive count together, once each.
func TestGroupChanges(t *testing.T) {
	r := newRoom(t)
	for i, tr := range some(rand.New(rand.NewPCG(3, 3)), 9) {
		if i >= 5 {
			tr.Outcome = span.Unfinished // it continues
		}
		r.add(tr)
		r.move(i)
		if i < 5 {
			r.move(i)
			r.move(i)
		}
	}
	ended := string(r.traces[0].Outcome)
	for name, tc := range map[string]struct {
		by     string
		states []span.State
		want   []store.Group
	}{
		"kinds":  {"kind", nil, []store.Group{{Values: []string{"Deployment"}, Count: 9}, {Values: []string{"Pod"}, Count: 9}}},
		"states": {"state", nil, []store.Group{{Values: []string{ended}, Count: 5}, {Values: []string{"running"}, Count: 4}}},
		"running": {
			"kind", []span.State{span.Running},
			[]store.Group{{Values: []string{"Deployment"}, Count: 4}, {Values: []string{"Pod"}, Count: 4}},
		},
		"stuck":  {"kind", []span.State{span.Stuck}, nil},
		"lately": {"state", nil, []store.Group{{Values: []string{"running"}, Count: 4}}},
		"ended":  {"state", []span.State{span.State(ended)}, []store.Group{{Values: []string{ended}, Count: 5}}},
	} {
		find := store.FindQuery{Now: asOf}
		if name == "lately" { // after all starts
			find.Since = asOf
		}
		page, err := r.view.Group(t.Context(), store.GroupQuery{
			FindQuery: find, By: by(t, tc.by), Changes: true, States: tc.states,
		})
		must(t, err)
		if d := cmp.Diff(tc.want, page.Groups); d != "" || page.Open != 0 {
			t.Errorf("%s: -want +got:\n%s", name, d)
		}
	}
	r.away = fmt.Errorf("%w: it is being opened", store.ErrUnavailable)
	page, err := r.view.Group(t.Context(), store.GroupQuery{
		FindQuery: store.FindQuery{Now: asOf}, By: by(t, "state"), Changes: true,
	})
	must(t, err)
	if d := cmp.Diff([]store.Group{{Values: []string{"running"}, Count: 4}}, page.Groups); d != "" || page.Incomplete == "" {
		t.Errorf("without the archive, %q: -want +got:\n%s", page.Incomplete, d)
	}
}

// TestGroupWithoutArchive: the log alone is counted, and the answer says so.
func TestGroupWithoutArchive(t *testing.T) {
	r := newRoom(t)
	for _, tr := range some(rand.New(rand.NewPCG(3, 3)), 6) {
		r.add(tr)
		r.move(len(r.at) - 1)
		r.move(len(r.at) - 1)
	}
	q := store.GroupQuery{FindQuery: store.FindQuery{Now: asOf}, By: by(t, "kind"), Of: lengthOf(t, "end - ended.pull")}
	want := []store.Group{{Values: []string{"Deployment"}, Count: 6}, {Values: []string{"Pod"}, Count: 6, With: 6}}
	page, err := r.view.Group(t.Context(), q)
	must(t, err)
	if d := cmp.Diff(want, page.Groups); d != "" || page.Incomplete != "" {
		t.Errorf("an archive that is late: %q, -want +got:\n%s", page.Incomplete, d)
	}
	r.away = fmt.Errorf("%w: it is being opened", store.ErrUnavailable)
	page, err = r.view.Group(t.Context(), q)
	must(t, err)
	if d := cmp.Diff(want, page.Groups); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if page.Incomplete != "the archive is unavailable: it is being opened" {
		t.Errorf("incomplete: %q", page.Incomplete)
	}
	found, err := r.view.Find(t.Context(), store.FindQuery{Now: asOf})
	must(t, err)
	if len(found.Lifecycles) != 12 || found.Incomplete == "" {
		t.Errorf("%d lifecycles, incomplete: %q", len(found.Lifecycles), found.Incomplete)
	}
}

// TestQuestionLimits: a costly question has an end, and so has the wait for a place.
func TestQuestionLimits(t *testing.T) {
	r := newRoom(t)
	open := make([]*span.Trace, 40)
	for i := range open {
		open[i] = spantest.Many(500)
		open[i].ID[0], open[i].ID[1] = 1, byte(i)
	}
	r.view.Publish(asOf, 9, open, []*journal.Entry{})
	q := store.FindQuery{Now: asOf, Where: where(t, `kind == "Pod"`), Limit: 1}
	page, err := r.view.Find(t.Context(), q)
	must(t, err)
	if len(page.Lifecycles) != 1 || page.Since != asOf.Add(-store.DefaultRange) {
		t.Errorf("%d lifecycles since %s", len(page.Lifecycles), page.Since)
	}
	r.view.SetTime(time.Nanosecond)
	if _, err := r.view.Find(t.Context(), q); !errors.Is(err, store.ErrTooLong) {
		t.Errorf("a costly question: %v", err)
	}
	if _, err := r.view.Group(t.Context(), store.GroupQuery{FindQuery: q}); !errors.Is(err, store.ErrTooLong) {
		t.Errorf("costly statistics: %v", err)
	}
	r.view.SetTime(time.Millisecond * 20)
	r.view.Occupy()
	if _, err := r.view.Find(t.Context(), q); !errors.Is(err, store.ErrBusy) {
		t.Errorf("too many questions: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.view.Find(ended, q); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended question: %v", err)
	}
}

// TestSearchLimits: a search that takes long is a costly question, and has its limits. A short one has none.
func TestSearchLimits(t *testing.T) {
	r := newRoom(t)
	r.view.Publish(asOf, 9, []*span.Trace{spantest.Unschedulable()}, []*journal.Entry{})
	some := object.Ref{Kind: object.Kind{Kind: "Pod"}}
	searches := map[string]func() error{}
	for name, q := range map[string]store.Query{
		"object": {Object: some}, "slower": {Slower: time.Second}, "outcome": {Outcomes: []span.Outcome{span.Failed}},
		"category": {Categories: []string{"paused"}}, "scope": {Scope: store.Scope{Namespaces: []string{"default"}}},
	} {
		searches["traces by "+name] = func() error { _, err := r.view.List(t.Context(), q); return err }
	}
	for name, q := range map[string]store.WriteQuery{
		"object": {Object: some}, "actor": {Actor: "x"}, "part": {Part: "desired"},
		"scope": {Scope: store.Scope{Namespaces: []string{"default"}}},
	} {
		searches["writes by "+name] = func() error { _, err := r.view.Writes(t.Context(), q); return err }
	}
	searches["density"] = func() error {
		q := store.DensityQuery{Query: store.Query{Since: asOf.Add(-time.Hour), Until: asOf, Object: some}, Buckets: 1}
		_, err := r.view.Density(t.Context(), q)
		return err
	}
	others := map[string]func() error{
		"traces": func() error { _, err := r.view.List(t.Context(), store.Query{}); return err },
		"writes": func() error { _, err := r.view.Writes(t.Context(), store.WriteQuery{}); return err },
	}
	all := func(of map[string]func() error, want error) {
		t.Helper()
		for name, search := range of {
			if err := search(); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", name, err, want)
			}
		}
	}
	r.view.SetBriefTime(0)
	all(searches, nil)
	r.view.SetTime(time.Nanosecond)
	all(searches, store.ErrTooLong)
	r.view.Occupy()
	r.view.SetTime(20 * time.Millisecond)
	all(searches, store.ErrBusy)
	all(others, nil)
	r.view.SetBriefTime(time.Minute)
	all(searches, nil)
}

// TestFindScope: clusters and namespaces that are not permitted are not read.
func TestFindScope(t *testing.T) {
	r := newRoom(t)
	r.view.Cluster = "one"
	r.add(spantest.Apply())
	r.move(0)
	for name, c := range map[string]struct {
		scope store.Scope
		want  int
	}{
		"all":              {store.Scope{}, 3},
		"the cluster":      {store.Scope{Clusters: []string{"two", "one"}}, 3},
		"another cluster":  {store.Scope{Clusters: []string{"two"}}, 0},
		"no cluster":       {store.Scope{Clusters: []string{}}, 0},
		"the namespace":    {store.Scope{Namespaces: []string{"default"}}, 3},
		"no namespace":     {store.Scope{Namespaces: []string{}}, 0},
		"the cluster-wide": {store.Scope{Namespaces: []string{""}}, 0},
	} {
		if got := finds(t, r.view, store.FindQuery{Scope: c.scope, Now: asOf}, nothing); len(got) != c.want {
			t.Errorf("%s: %d lifecycles, not %d", name, len(got), c.want)
		}
		r.move(0) // the answer is the same in every place
	}
	if _, err := r.view.Find(t.Context(), store.FindQuery{After: "x"}); !errors.Is(err, store.ErrCursor) {
		t.Errorf("another cursor: %v", err)
	}
}

// BenchmarkFindLive finds 100 of 10,000 open lifecycles, with 60,000 spans.
func BenchmarkFindLive(b *testing.B) {
	v := viewtest.New(b)
	var open []*span.Trace
	for i := range 1000 {
		t := spantest.New(fmt.Sprint("open ", i))
		d := t.Deployment(nil, i, -1)
		for pod := range 9 {
			p := t.Pod(d, fmt.Sprint("pod-", pod), i, i+3000)
			p.Facts = &span.Facts{Verb: "create", Workload: "Deployment/web", Pod: &span.PodFacts{
				Volumes: 2, Node: "node-1", Zone: "zone-a", Images: []string{"nginx:1.27"},
			}}
		}
		open = append(open, t.Trace)
	}
	v.Put(b, asOf, viewtest.Traces{Open: open})
	q, err := question.Parse(`kind == "Pod" && phase.pull > duration("1s") && images.exists(i, i.contains("nginx"))`)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		page, err := v.Find(b.Context(), store.FindQuery{Where: q, Now: asOf, Limit: 100})
		if err != nil || len(page.Lifecycles) != 100 {
			b.Fatal(err, len(page.Lifecycles))
		}
	}
}

// TestGroupAnyPlace: within any scope, statistics are those of an archive that has what the scope permits and nothing
// else, wherever the finished traces are.
func TestGroupAnyPlace(t *testing.T) {
	random := rand.New(rand.NewPCG(12, 1))
	const n = 18
	rounds := 60
	if testing.Short() {
		rounds = 15
	}
	r := newRoom(t)
	for _, tr := range some(random, n) {
		r.add(tr)
		for range 2 { // into the log
			r.move(len(r.at) - 1)
		}
	}
	counted := 0
	for round := range rounds {
		if random.IntN(3) == 0 {
			r.amend(random.IntN(n))
		}
		if random.IntN(8) == 0 {
			r.reopen()
		}
		q := store.GroupQuery{
			FindQuery: anyQuestion(t, random),
		}
		for range random.IntN(3) {
			keys := []string{"kind", "namespace", "name", "day", "outcome", "workload", "image", "field", "hour", "week"}
			q.By = append(q.By, by(t, keys[random.IntN(len(keys))])...)
		}
		switch random.IntN(3) {
		case 0:
			q.Of, q.Quantiles = lengthOf(t, "duration"), []float64{0, 0.5, 1}
		case 1:
			q.Of, q.Quantiles = lengthOf(t, "ended.readiness - began.pull"), []float64{0.3, 0.9}
			q.Order = store.GroupOrder(random.IntN(4) - 1)
		default:
			q.Changes = true
		}
		all := q
		all.Scope = store.Scope{}
		want, err := r.permitted(q.Scope).Group(t.Context(), all)
		must(t, err)
		got, err := r.view.Group(t.Context(), q)
		must(t, err)
		for _, g := range got.Groups {
			counted += int(g.Count)
		}
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("round %d, %+v: -oracle +view:\n%s", round, q, d)
		}
		r.move(random.IntN(n))
	}
	if counted < rounds {
		t.Errorf("only %d lifecycles in %d rounds", counted, rounds)
	}
}
