// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
	"github.com/kube-lifeline/lifeline/app/internal/store/storetest"
)

// many returns an archive with 20,000 lifecycles.
func many(t *testing.T) *sqlite.Store {
	t.Helper()
	s := openAt(t, filepath.Join(t.TempDir(), "lifeline.db"))
	h := storetest.Year(1000)
	must(t, s.PutLifecycles(t.Context(), traces(&h, 0, 1000)))
	return s
}

// TestPlans: indexes serve the frequent questions.
func TestPlans(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "lifeline.db"))
	for text, want := range map[string]string{
		proposal:                          "SEARCH l USING INDEX lifecycles_kind (kind=? AND start>?)",
		`phase.startup > duration("30s")`: "SEARCH l USING INDEX lifecycles_start (start>?)",
		`namespace == "team-a"`:           "SEARCH l USING INDEX lifecycles_namespace (namespace=? AND start>?)",
		`uid == "x"`:                      "SEARCH o USING INDEX objects_uid (uid=?)",
		`name == "x"`:                     "SEARCH o USING INDEX objects_name (name=?)",
	} {
		plan, err := s.Plan(t.Context(), store.FindQuery{Where: parse(t, text), Now: spantest.Epoch})
		must(t, err)
		if all := strings.Join(plan, "; "); !strings.HasPrefix(all, want) {
			t.Errorf("%s: %s", text, all)
		}
	}
}

// TestScopePlans: a scope adds no scan of a table. Its conditions read the objects of one trace at a time.
func TestScopePlans(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "lifeline.db"))
	const (
		sole   = "SEARCH traces USING INDEX traces_sole (sole=?)"
		exists = "SEARCH traces USING INDEX sqlite_autoindex_traces_1 (id=?)"
		shared = "SEARCH traces USING INDEX traces_several (as_of>?)"
	)
	for name, tc := range map[string]struct {
		scope store.Scope
		list  string
		times int
	}{
		"namespaces": {
			store.Scope{
				Namespaces: []string{"a", "b"}, Without: []store.Guarded{{Kind: "Secret", Except: []string{"a"}}},
			}, sole, 5, // each namespace, for the page and for its end, and the traces of both
		},
		"guards": {store.Scope{Without: []store.Guarded{{Kind: "Secret"}}}, "SCAN traces USING INDEX traces_start", 1},
	} {
		plans, err := s.ScopePlans(t.Context(), tc.scope)
		must(t, err)
		for statement, want := range map[string]string{"list": tc.list, "exists": exists, "shared": shared} {
			times := 1
			if statement == "list" {
				times = tc.times
			}
			got := plans[statement]
			if strings.Count(got, strings.TrimSuffix(want, ")")) != times ||
				strings.Count(got, " traces USING") != times || strings.Contains(got, "SCAN so") {
				t.Errorf("%s of %s: %s, want %s", statement, name, got, want)
			}
		}
	}
}

// TestTooLong: a question ends after its time, before the first match and after it. It needs many times
// as long as it may.
func TestTooLong(t *testing.T) {
	s := many(t)
	year := store.FindQuery{Now: spantest.Epoch, Since: spantest.Epoch.Add(-400 * 24 * time.Hour), Limit: 10}
	h := storetest.Year(1000)
	last := store.LifecyclesOf(h.Trace(999), spantest.Epoch)[0].Trace.String()
	var slow []string
	for n := range 15 {
		slow = append(slow, fmt.Sprintf(`images.exists(i, i.matches("^(a|b)+c{%d}$"))`, n+1))
	}
	never := strings.Join(slow, " || ")
	for name, text := range map[string]string{
		"no match":     never,
		"then no more": `trace == "` + last + `" && verb == "create" && kind == "ReplicaSet" || ` + never,
	} {
		t.Run(name, func(t *testing.T) {
			q := year
			q.Where = parse(t, text)
			endsEarly(t, func(limit time.Duration) error {
				s.LimitQuestions(limit)
				page, err := s.Find(t.Context(), q)
				if err == nil && (len(page.Lifecycles) > 0) != (name == "then no more") {
					t.Fatalf("%d lifecycles", len(page.Lifecycles))
				}
				return err
			})
			s.LimitQuestions(5 * time.Millisecond)
			if _, err := s.Group(t.Context(), store.GroupQuery{FindQuery: q}); !errors.Is(err, store.ErrTooLong) {
				t.Errorf("group: %v", err)
			}
		})
	}
	s.LimitQuestions(store.MaxQuestionTime)
	if _, err := s.Find(t.Context(), year); err != nil {
		t.Errorf("the next question: %v", err)
	}
}

// TestBusy: a question beside too many others is refused, and those without conditions are not slow.
func TestBusy(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "lifeline.db"))
	release := s.Occupy(store.MaxQuestions())
	if _, err := s.Find(t.Context(), store.FindQuery{}); !errors.Is(err, store.ErrBusy) {
		t.Errorf("beside others: %v", err)
	}
	if _, err := s.List(t.Context(), store.Query{}); err != nil {
		t.Errorf("a list beside questions: %v", err)
	}
	release()
	if _, err := s.Find(t.Context(), store.FindQuery{}); err != nil {
		t.Errorf("after the others: %v", err)
	}
}

// TestSearchEnds: a search ends with its context, before the first match and after it.
func TestSearchEnds(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "lifeline.db"))
	must(t, s.PutWrites(t.Context(), 100_000))
	for namespace, want := range map[string]int{"none": 0, "last": 9} {
		of := object.Ref{Namespace: namespace}
		for name, search := range map[string]func(context.Context) (int, error){
			"traces": func(ctx context.Context) (int, error) {
				page, err := s.List(ctx, store.Query{Object: of})
				if err != nil {
					return 0, err
				}
				return len(page.Traces), nil
			},
			"writes": func(ctx context.Context) (int, error) {
				page, err := s.Writes(ctx, store.WriteQuery{Object: of})
				if err != nil {
					return 0, err
				}
				return len(page.Writes), nil
			},
		} {
			t.Run(name+" in "+namespace, func(t *testing.T) {
				endsEarly(t, func(limit time.Duration) error {
					ctx, cancel := context.WithTimeoutCause(t.Context(), limit, store.ErrTooLong)
					defer cancel()
					n, err := search(ctx)
					if err == nil && n != want {
						t.Errorf("%d, want %d", n, want)
					}
					return err
				})
			})
		}
	}
}

// TestMoreGroups: the largest groups come, and the others are counted.
func TestMoreGroups(t *testing.T) {
	s := many(t)
	page, err := s.Group(t.Context(), store.GroupQuery{By: by(t, "uid")})
	must(t, err)
	if len(page.Groups) != store.MaxGroups || page.More != 20_000-store.MaxGroups {
		t.Errorf("%d groups and %d more", len(page.Groups), page.More)
	}
}

// TestOperationsOfRemoved: the names of spans go with the last of them.
func TestOperationsOfRemoved(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "lifeline.db"))
	for name, remove := range map[string]func() error{
		"prune": func() error {
			_, err := s.Prune(t.Context(), store.Limits{Before: spantest.Epoch.Add(time.Hour)})
			return err
		},
		"forget": func() error {
			_, err := s.Forget(t.Context(), store.Selector{Namespace: "default"})
			return err
		},
	} {
		must(
			t,
			s.Write(
				t.Context(),
				&store.Batch{
					Revision: 1,
					AsOf:     spantest.Epoch,
					Finished: []*span.Trace{spantest.Joined(), spantest.Rollout()},
				},
			),
		)
		if names, err := s.Services(t.Context(), store.Scope{}); err != nil || len(names) < 5 {
			t.Errorf("%s: before: %v, %v", name, names, err)
		}
		must(t, remove())
		if names, err := s.Services(t.Context(), store.Scope{}); err != nil || len(names) > 0 {
			t.Errorf("%s: after: %v, %v", name, names, err)
		}
		rows, err := s.Rows(t.Context())
		must(t, err)
		for table, n := range rows {
			if n > 0 {
				t.Errorf("%s: table %s has %d rows", name, table, n)
			}
		}
	}
}

// TestSearchTooLong: a search ends after its time, also after the first match.
func TestSearchTooLong(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "lifeline.db"))
	h := storetest.Year(600)
	b := &store.Batch{Revision: 1, AsOf: spantest.Epoch}
	for n := range 600 {
		b.Finished = append(b.Finished, h.Trace(n))
	}
	for _, one := range b.Finished[599].Spans {
		one.Object.Name = "needle"
	}
	must(t, s.Write(t.Context(), b))
	q := store.SpanQuery{Attributes: map[string]string{store.AttributeObjectName: "needle"}, Limit: 10}
	endsEarly(t, func(limit time.Duration) error {
		s.LimitQuestions(limit)
		found, err := s.Search(t.Context(), q)
		if err == nil && len(found) != 1 {
			t.Fatalf("%d traces were found", len(found))
		}
		return err
	})
}

// endsEarly expects that a question ends at its limit, a small part of the whole time. The speed of a busy machine
// changes: each attempt measures the whole time again, and a question that has ended within its limit proves nothing.
func endsEarly(t *testing.T, ask func(limit time.Duration) error) {
	t.Helper()
	const attempts = 20
	var last string
	for range attempts {
		began := time.Now()
		must(t, ask(time.Hour)) // more than a busy machine needs
		whole := time.Since(began)
		began = time.Now()
		err := ask(whole / 20)
		took := time.Since(began)
		if err != nil && !errors.Is(err, store.ErrTooLong) {
			t.Fatalf("got %v", err)
		}
		if err != nil && took <= whole/2 {
			return
		}
		last = fmt.Sprintf("it ended after %s of %s: %v", took, whole, err)
	}
	t.Fatal(last)
}

// TestObjectsOfLifecycles: lifecycles keep their objects when an amendment of an earlier revision replaces a span, and
// when the trace is written again.
func TestObjectsOfLifecycles(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "lifeline.db"))
	all := spantest.Apply()
	late := func(name string) *span.Trace {
		root := all.Root()
		return &span.Trace{ID: all.ID, Spans: []*span.Span{{
			TraceID: all.ID, ID: trace.SpanID{0: 0xff}, Parent: root.ID, Name: span.NameLate,
			Start: root.End, End: root.End,
			Object: object.Ref{Kind: object.Kind{Version: "v1", Kind: "Secret"}, Name: name, UID: "late"},
		}}}
	}
	want := map[string]string{}
	for _, l := range store.LifecyclesOf(all, spantest.Epoch) {
		want[l.Span.String()] = l.Object.Kind.Kind + "/" + l.Object.Name
	}
	for _, b := range []*store.Batch{
		{Revision: 2, Finished: []*span.Trace{all}},
		{Revision: 5, Amendments: []*span.Trace{late("a-second")}},
		{Revision: 4, Amendments: []*span.Trace{late("a-first")}},
		{Revision: 1, Finished: []*span.Trace{{ID: all.ID, Outcome: all.Outcome, Spans: all.Spans[1:]}}},
	} {
		b.AsOf = spantest.Epoch.Add(time.Hour)
		must(t, s.Write(t.Context(), b))
		page, err := s.Find(t.Context(), store.FindQuery{Now: b.AsOf, Since: spantest.Epoch.Add(-time.Hour)})
		must(t, err)
		got := map[string]string{}
		for _, l := range page.Lifecycles {
			got[l.Span.String()] = l.Object.Kind.Kind + "/" + l.Object.Name
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("after revision %d: -want +got:\n%s", b.Revision, diff)
		}
	}
}
