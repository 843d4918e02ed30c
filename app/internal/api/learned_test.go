// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	validator "github.com/santhosh-tekuri/jsonschema/v6"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/insight/sample"
	"github.com/kube-lifeline/lifeline/app/internal/shift"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/view/viewtest"
)

// learner is a view with samples of its own.
type learner struct {
	*viewtest.View

	rollups []sample.Rollup
	samples []sample.Lifecycle
	// asked gets each query.
	asked   *store.RollupQuery
	queries []store.FindQuery
	err     error
}

func (l *learner) Rollups(_ context.Context, q store.RollupQuery) iter.Seq2[sample.Rollup, error] {
	l.asked = &q
	return func(yield func(sample.Rollup, error) bool) {
		for _, r := range l.rollups {
			if q.Scope.PermitsNamespace(r.Namespace) && !yield(r, nil) {
				return
			}
		}
		if l.err != nil {
			yield(sample.Rollup{}, l.err)
		}
	}
}

func (l *learner) Samples(_ context.Context, q store.FindQuery) iter.Seq2[sample.Lifecycle, error] {
	l.queries = append(l.queries, q)
	return func(yield func(sample.Lifecycle, error) bool) {
		for _, s := range l.samples {
			if (q.Since.IsZero() || !s.Start.Before(q.Since)) && (q.Until.IsZero() || s.Start.Before(q.Until)) &&
				!yield(s, nil) {
				return
			}
		}
		if l.err != nil {
			yield(sample.Lifecycle{}, l.err)
		}
	}
}

// released is the time at which the pulls of Deployment web get slower, and change is the trace that began it.
var released, change = spantest.Epoch, spantest.Apply().ID

// slowed is a view with rollouts of a Deployment, an hour apart, before and after a change.
func slowed(t *testing.T) *learner {
	t.Helper()
	l := &learner{View: filled(t)}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 60 {
		at, image, pull := released.Add(time.Duration(i-40)*time.Hour), "web:1", 1200.0
		id := trace.TraceID{1, byte(i)}
		if i >= 40 {
			image, pull = "web:2", 4800
		}
		if i == 40 {
			id = change
		}
		d := time.Duration((pull + 200*r.Float64()) * float64(time.Millisecond))
		one := sample.Lifecycle{
			Start: at, Phases: sample.Phases{"pull": d, sample.Total: d + time.Second},
			Attributes: []sample.Attribute{{Name: sample.Image, Value: image}},
		}
		l.samples = append(l.samples, one)
		l.rollups = append(l.rollups, sample.Roll(sample.Rollup{
			Namespace: "default", Workload: "Deployment/web", Kind: "Pod", Verb: "create", Trace: id,
		}, []sample.Lifecycle{one}))
	}
	return l
}

func (l *learner) access(s store.Scope) func(*http.Request) (store.Access, error) {
	gate := store.NewGate(l, store.Whole)
	return func(*http.Request) (store.Access, error) { return gate.For(s), nil }
}

func startLearned(t *testing.T, l *learner, o Options) *serving {
	t.Helper()
	if o.Access == nil {
		o.Access = l.access(store.Scope{})
	}
	o.Clock = func() time.Time { return released.Add(20 * time.Hour) }
	return start(t, o)
}

func TestRegressions(t *testing.T) {
	l := slowed(t)
	s := startLearned(t, l, Options{})
	var got shift.Report
	s.into(t, prefix+"regressions?workload=Deployment/web&namespace=default", &got)
	if len(got.Shifts) == 0 || got.Samples != 60 || got.Least != 8 || got.Short != 0 {
		t.Fatalf("got %+v", got)
	}
	if q := l.asked; q.Namespace != "default" || !q.Since.Equal(got.Since.Add(-got.Until.Sub(got.Since))) ||
		!q.Until.Equal(got.Until) {
		t.Errorf("asked for %+v", q)
	}
	groups := shift.Groups(&got)
	lead := groups[0].Lead
	if len(groups) != 1 || lead.Phase != "pull" || lead.Before.Count != 40 || lead.After.Count != 20 ||
		!lead.Since.Equal(released) || len(lead.Factors) == 0 {
		t.Errorf("got %+v", lead)
	}
	if lead.Change == nil || lead.Change.TraceID != change.String() ||
		lead.Change.Command != "kubectl apply -f web.yaml" {
		t.Errorf("the change is %+v", lead.Change)
	}
	if !slices.ContainsFunc(lead.Earlier, func(e shift.Earlier) bool {
		return e.TraceID == change.String() && e.Relation == "workload"
	}) {
		t.Errorf("before it: %+v", lead.Earlier)
	}
}

// TestRegressionsOfOthers: a caller without a namespace learns nothing of it, not even how much was looked at.
func TestRegressionsOfOthers(t *testing.T) {
	l := slowed(t)
	last := &shift.Report{Series: 3, Shifts: []shift.Shift{{ID: "x"}}}
	s := startLearned(t, l, Options{
		Access: l.access(store.Scope{Namespaces: []string{"other"}}), Report: func() *shift.Report { return last },
	})
	var got shift.Report
	s.into(t, prefix+"regressions", &got)
	got.AsOf, got.Since, got.Until = time.Time{}, time.Time{}, time.Time{}
	if diff := cmp.Diff(shift.Report{Least: 8, Shifts: []shift.Shift{}}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestLastReport: a caller who may see everything gets the last report, if it is about the same time.
func TestLastReport(t *testing.T) {
	l := slowed(t)
	now := released.Add(20 * time.Hour)
	last := &shift.Report{
		Since: now.Add(-defaultPeriod - time.Minute), Until: now.Add(-time.Minute), Series: 77,
		Shifts: []shift.Shift{{ID: "a"}, {ID: "b", Faster: true}, {ID: "c", Ended: true}},
	}
	s := startLearned(t, l, Options{Report: func() *shift.Report { return last }})
	for query, want := range map[string]string{
		"": "77 [a]", "?faster=true": "77 [a b]", "?past=true": "77 [a c]", "?since=7d": "computed",
		"?namespace=shop": "computed", "?workload=Deployment/web": "computed", "?where=true": "computed",
		"?until=1h": "computed",
	} {
		var got shift.Report
		s.into(t, prefix+"regressions"+query, &got)
		text := "computed"
		if got.Series == 77 {
			ids := []string{}
			for _, one := range got.Shifts {
				ids = append(ids, one.ID)
			}
			text = fmt.Sprint(got.Series, " ", ids)
		}
		if text != want {
			t.Errorf("%q: got %s, want %s", query, text, want)
		}
	}
}

// TestTooManySamples reads the later half of the time.
func TestTooManySamples(t *testing.T) {
	l := slowed(t)
	one := l.rollups[0]
	l.rollups = nil
	for range maxRollups + 1 {
		l.rollups = append(l.rollups, one)
	}
	read, reads := l.rollups, 0
	q := store.RollupQuery{Since: released.Add(-24 * time.Hour), Until: released}
	counted := &halving{learner: l, read: read, reads: &reads}
	access := store.NewGate(counted, store.Whole).For(store.Scope{})
	got, err := computed(t.Context(), access, q, "", released)
	if err != nil || got.Incomplete == "" || !got.Since.Equal(released.Add(-12*time.Hour)) || reads != 2 {
		t.Errorf("%v %+v after %d reads", err, got, reads)
	}
}

// halving has too many rollups for the first query.
type halving struct {
	*learner

	read  []sample.Rollup
	reads *int
}

func (h *halving) Rollups(ctx context.Context, q store.RollupQuery) iter.Seq2[sample.Rollup, error] {
	*h.reads++
	h.rollups = h.read
	if *h.reads > 1 {
		h.rollups = nil
	}
	return h.learner.Rollups(ctx, q)
}

func TestCompareAnswers(t *testing.T) {
	whole, err := validator.UnmarshalJSON(bytes.NewReader(openAPI))
	if err != nil {
		t.Fatal(err)
	}
	c := validator.NewCompiler()
	if err := c.AddResource("openapi.json", strict(whole)); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("openapi.json#/components/schemas/Comparison")
	if err != nil {
		t.Fatal(err)
	}
	l := slowed(t)
	s := startLearned(t, l, Options{})
	at := url.QueryEscape(released.Format(time.RFC3339))
	for query, want := range map[string]string{
		"a=" + spantest.Apply().ID.String() + "&b=" + spantest.Rollout().ID.String()[:10]: "traces 1 1 ",
		"where=true&before=" + at:                         "sets 40 20 slower",
		"where=true&after=" + at:                          "sets 40 20 slower",
		"where=true&before=" + at + "&after=" + at:        "sets 40 20 slower",
		"where=true&change=" + change.String()[:8]:        "sets 40 20 slower",
		"where=true&and=true&since=90h":                   "sets 60 60 same",
		"where=true&before=" + at + "&since=45h&until=1h": "sets 25 19 slower",
		"where=true&before=" + at + "&since=24h":          "sets 4 20 unknown",
	} {
		res, body := s.get(t, prefix+"compare?"+query)
		var got Comparison
		if err := json.Unmarshal(body, &got); err != nil || res.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", query, res.StatusCode, body)
			continue
		}
		if text := fmt.Sprint(got.Of, " ", got.A.Count, " ", got.B.Count, " ", got.Total.Verdict); text != want {
			t.Errorf("%s: got %s, want %s", query, text, want)
		}
		var sum Seconds
		for _, row := range got.Rows {
			sum += row.Difference
		}
		if sum-got.Total.Difference > 5 || got.Total.Difference-sum > 5 {
			t.Errorf("%s: the rows add up to %d, want %d", query, sum, got.Total.Difference)
		}
		doc, err := validator.UnmarshalJSON(bytes.NewReader(body))
		if err != nil || schema.Validate(doc) != nil {
			t.Errorf("%s: %v", query, schema.Validate(doc))
		}
		if (got.Change != nil) != (query == "where=true&change="+change.String()[:8]) {
			t.Errorf("%s: the change is %+v", query, got.Change)
		}
	}
}

// TestRarePhases: a phase of few lifecycles is a part of the rest, and startup has others within it.
func TestRarePhases(t *testing.T) {
	set := func(of ...sample.Phases) (out []sample.Lifecycle) {
		for _, phases := range of {
			out = append(out, sample.Lifecycle{Phases: phases})
		}
		return out
	}
	a := set(sample.Phases{"pull": 1, "run": 1, "startup": 1}, sample.Phases{"pull": 1}, sample.Phases{"pull": 1})
	b := set(sample.Phases{"init": 1}, sample.Phases{"init": 1, "run": 1}, sample.Phases{"startup": 2})
	shared := b[1].Phases
	dropRare(a, b)
	want := [][]sample.Lifecycle{
		set(sample.Phases{"pull": 1}, sample.Phases{"pull": 1}, sample.Phases{"pull": 1}),
		set(sample.Phases{"init": 1}, sample.Phases{"init": 1}, sample.Phases{}),
	}
	if diff := cmp.Diff(want, [][]sample.Lifecycle{a, b}); diff != "" || len(shared) != 2 {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestLearnedErrors(t *testing.T) {
	l := slowed(t)
	s := startLearned(t, l, Options{})
	id := spantest.Apply().ID.String()
	for query, want := range map[string]int{
		"compare":         http.StatusBadRequest,
		"compare?a=" + id: http.StatusBadRequest,
		"compare?a=" + id + "&b=" + id + "&where=true":            http.StatusBadRequest,
		"compare?a=" + id + "&b=0000000000000000000000000000000f": http.StatusNotFound,
		"compare?where=true":                             http.StatusBadRequest,
		"compare?where=tru":                              http.StatusBadRequest,
		"compare?where=true&and=tru":                     http.StatusBadRequest,
		"compare?where=true&change=12345678":             http.StatusNotFound,
		"compare?where=true&change=" + id + "&before=1h": http.StatusBadRequest,
		"compare?where=true&before=1h&after=2h":          http.StatusBadRequest,
		"regressions?where=restarts+>+1":                 http.StatusBadRequest,
		"regressions?workload=a&workload=b":              http.StatusBadRequest,
	} {
		if res, body := s.get(t, prefix+query); res.StatusCode != want {
			t.Errorf("%s: %d %s, want %d", query, res.StatusCode, body, want)
		}
	}
	for wrong, want := range map[error]int{
		store.ErrTooLong: http.StatusUnprocessableEntity, store.ErrBusy: http.StatusTooManyRequests,
		&store.WithheldError{}: http.StatusForbidden,
	} {
		l.err = wrong
		for _, query := range []string{"regressions", "compare?where=true&before=1h"} {
			if res, body := s.get(t, prefix+query); res.StatusCode != want {
				t.Errorf("%s after %v: %d %s, want %d", query, wrong, res.StatusCode, body, want)
			}
		}
	}
}
