// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/insight/sample"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// rollups returns all rollups of a query: in the order of time, and those with the same start in that of
// CompareRollups.
func rollups(t testing.TB, s store.Learner, q store.RollupQuery) []sample.Rollup {
	t.Helper()
	var out []sample.Rollup
	for r, err := range s.Rollups(t.Context(), q) {
		must(t, err)
		if n := len(out); n > 0 && r.Start.Before(out[n-1].Start) {
			t.Errorf("a rollup of %s comes after one of %s", r.Start, out[n-1].Start)
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b sample.Rollup) int { return store.CompareRollups(&a, &b) })
	return out
}

// samples returns all samples of a query, in the order of time.
func samples(t testing.TB, s store.Learner, q store.FindQuery) []sample.Lifecycle {
	t.Helper()
	var out []sample.Lifecycle
	for l, err := range s.Samples(t.Context(), q) {
		must(t, err)
		out = append(out, l)
	}
	sortSamples(out)
	return out
}

func sortSamples(all []sample.Lifecycle) {
	slices.SortStableFunc(all, func(a, b sample.Lifecycle) int {
		if c := a.Start.Compare(b.Start); c != 0 {
			return c
		}
		return cmp.Or(
			slices.CompareFunc(a.Attributes, b.Attributes, sample.Attribute.Compare),
			cmp.Compare(a.Phases[sample.Total], b.Phases[sample.Total]),
		)
	})
}

// learned returns what a Learner has of finished traces within a scope.
func learned(traces []*span.Trace, q store.RollupQuery) []sample.Rollup {
	var out []sample.Rollup
	for _, t := range traces {
		for _, r := range store.RollupsOf(t, asOf) {
			if permitted, is := r.In(q.Scope); is && q.Fits(&r, &permitted) {
				out = append(out, permitted)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b sample.Rollup) int { return store.CompareRollups(&a, &b) })
	return out
}

// learnedScopes are scopes of the traces of mixed.
var learnedScopes = map[string]store.Scope{
	"everything":   {},
	"namespaces":   {Namespaces: []string{"team-01", "team-02", "team-03", "default"}},
	"and Nodes":    {Namespaces: []string{"", "team-01", "team-02", "default"}},
	"without Pods": {Without: []store.Guarded{{Kind: "Pod", Except: []string{"team-02"}}}},
	"guards":       {Without: []store.Guarded{{Kind: "Secret"}}},
	"nothing":      {Namespaces: []string{}},
}

// testRollups: rollups are those of the traces, in the order of time, within a scope and for a question.
func testRollups(t *testing.T, reading Reading) {
	traces := mixed()
	b := batch(1)
	b.Finished = traces
	r := reading(t, b)
	for name, scope := range learnedScopes {
		for _, text := range []string{
			"", `kind == "Pod" && duration > duration("5s")`, `node == "node-7"`,
			`"redis:8" in images && has(phase.pull)`,
			`workload == "Deployment/web" && verb == "create"`,
		} {
			q := store.RollupQuery{Scope: scope, Now: questionTime}
			if text != "" {
				q.Where = where(t, text)
			}
			want := learned(traces, q)
			if name == "everything" && len(want) == 0 {
				t.Errorf("%s: nothing is asked for", text)
			}
			if d := diff(want, rollups(t, r, q)); d != "" {
				t.Errorf("%s: %s (-want +got):\n%s", name, text, d)
			}
		}
	}
	all := learned(traces, store.RollupQuery{})
	for name, q := range map[string]store.RollupQuery{
		"since": {Since: all[len(all)/2].Start}, "until": {Until: all[len(all)/2].Start},
		"namespace": {Namespace: "default"},
	} {
		want := learned(traces, q)
		if d := diff(want, rollups(t, r, q)); d != "" || len(want) == 0 || len(want) == len(all) {
			t.Errorf("%s: %d of %d (-want +got):\n%s", name, len(want), len(all), d)
		}
	}
	var fault *store.UnrolledError
	for _, err := range r.Rollups(t.Context(), store.RollupQuery{Where: where(t, `name == "web"`)}) {
		if !errors.As(err, &fault) || fault.Field != "name" {
			t.Errorf("a name: %v", err)
		}
	}
	for _, err := range r.Rollups(t.Context(), store.RollupQuery{}) {
		must(t, err)
		break // the caller may end it
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	var last error
	for _, last = range r.Rollups(ended, store.RollupQuery{}) {
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("a cancelled query: %v", last)
	}
}

// testSamples: samples are the matching lifecycles that teach something.
func testSamples(t *testing.T, reading Reading) {
	traces := mixed()
	b := batch(1)
	b.Finished = traces
	r := reading(t, b)
	year := questionTime.Add(-400 * 24 * time.Hour)
	for name, scope := range learnedScopes {
		for _, text := range []string{
			"", `kind == "Pod" && phase.pull > duration("1s")`, `size(images) == 2`, `name == "web"`,
			`kind == "Nothing"`,
		} {
			q := store.FindQuery{Scope: scope, Now: questionTime, Since: year}
			if text != "" {
				q.Where = where(t, text)
			}
			var want []sample.Lifecycle
			found := lifecycles(permitted(r, traces, scope))
			for _, l := range selected(found, q) {
				if one, is := store.SampleOf(&l); is {
					_, isStored := r.(store.Stored)
					if !isStored && !scope.PermitsNamespace("") {
						store.WithoutNode(&one)
					}
					want = append(want, one)
				}
			}
			sortSamples(want)
			if d := diff(want, samples(t, r, q)); d != "" {
				t.Errorf("%s: %s (-want +got):\n%s", name, text, d)
			}
		}
	}
	q := store.FindQuery{Now: questionTime, Since: year, Limit: 7}
	if got := samples(t, r, q); len(got) != 7 {
		t.Errorf("%d samples, want the limit", len(got))
	}
}

// testRollupVersions: versions, claims, amendments and repetitions in any order give the rollups of the trace.
func testRollupVersions(t *testing.T, open Open) {
	failed, recovered := failing(1)
	first, then := batch(1), batch(2)
	unfinished := change(3, 4)
	unfinished.Spans[0].Outcome, unfinished.Outcome = span.Unfinished, span.Unfinished
	_, later := failing(3)
	first.Finished = []*span.Trace{failed, change(2, 2), unfinished}
	then.Finished = []*span.Trace{change(2, 5)}
	then.Amendments = []*span.Trace{recovered, later, amendment(change(2, 2), "late")}
	var want []sample.Rollup
	for name, batches := range map[string][]*store.Batch{
		"in order": {first, then}, "before": {then, first}, "again": {first, then, first, then},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			for _, b := range batches {
				put(t, s, b)
			}
			got := rollups(t, s, store.RollupQuery{})
			if want == nil {
				want = got
			}
			if d := diff(want, got); d != "" {
				t.Errorf("-other order +got:\n%s", d)
			}
			var whole []*span.Trace
			for n := 1; n <= 3; n++ {
				whole = append(whole, get(t, s, change(n, 1).ID).Trace)
			}
			if d := diff(learned(whole, store.RollupQuery{}), got); d != "" {
				t.Errorf("-of the traces +got:\n%s", d)
			}
		})
	}
}

// testRollupsKept: rollups outlive their traces, and have limits of their own. A trace that comes again replaces them.
func testRollupsKept(t *testing.T, open Open) {
	s, b := open(t), batch(1)
	for n := 1; n <= 5; n++ {
		b.Finished = append(b.Finished, change(n, 2))
	}
	put(t, s, b)
	all := rollups(t, s, store.RollupQuery{})
	_, err := s.Prune(t.Context(), store.Limits{Before: second(100)})
	must(t, err)
	if d := diff(all, rollups(t, s, store.RollupQuery{})); d != "" || len(all) != 10 {
		t.Errorf("%d, after their traces (-want +got):\n%s", len(all), d)
	}
	put(t, s, b)
	if d := diff(all, rollups(t, s, store.RollupQuery{})); d != "" {
		t.Errorf("of restored traces (-want +got):\n%s", d)
	}
	got, err := s.Prune(t.Context(), store.Limits{Rollups: second(3)})
	if left := rollups(t, s, store.RollupQuery{}); err != nil || got.Rollups != 5 || got.Traces != 0 ||
		diff(all[5:], left) != "" {
		t.Errorf("%d are left, %+v, %v", len(left), got, err)
	}
	got, err = s.Prune(t.Context(), store.Limits{Bytes: 1})
	if left := rollups(t, s, store.RollupQuery{}); err != nil || got.Rollups != 5 || len(left) != 0 {
		t.Errorf("without space: %d are left, %+v, %v", len(left), got, err)
	}
	put(t, s, &store.Batch{Revision: 2, AsOf: asOf, Rollups: store.RollupsOf(change(9, 1), asOf)})
	put(t, s, &store.Batch{Revision: 3, AsOf: asOf, Rollups: store.RollupsOf(change(9, 3), asOf)})
	first := learned([]*span.Trace{change(9, 1)}, store.RollupQuery{})
	if d := diff(first, rollups(t, s, store.RollupQuery{})); d != "" {
		t.Errorf("of a removed trace (-want +got):\n%s", d)
	}
}

// testRollupsForgotten: rollups go with a namespace, also those of removed traces and of changes in the namespace.
func testRollupsForgotten(t *testing.T, open Open) {
	s, b := open(t), batch(1)
	from := in(change(1, 3), "other", 1) // the change is in the namespace, its Pods are not
	from.Spans[0].Object.Namespace = "secret"
	itself := change(7, 1)
	itself.Spans[0].Object.Kind.Kind, itself.Spans[0].Object.Group = "Namespace", ""
	itself.Spans[0].Object.Namespace, itself.Spans[0].Object.Name = "", "secret"
	kept := []*span.Trace{in(change(4, 2), "secret-2", 0), change(5, 2)}
	b.Finished = append([]*span.Trace{from, in(change(2, 3), "secret", 2), itself}, kept...)
	put(t, s, b)
	_, err := s.Prune(t.Context(), store.Limits{Before: second(100)})
	must(t, err)
	present := in(change(6, 2), "secret", 0)
	put(t, s, &store.Batch{Revision: 2, AsOf: asOf, Finished: []*span.Trace{present}})
	got, err := s.Forget(t.Context(), store.Selector{Namespace: "secret"})
	if want := (store.Forgotten{Traces: 1, Rollups: 7}); err != nil || got != want {
		t.Errorf("%+v, want %+v; %v", got, want, err)
	}
	if d := diff(learned(kept, store.RollupQuery{}), rollups(t, s, store.RollupQuery{})); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}
