// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// searched is a reader that searches all of its traces, one by one.
type searched struct{ store.Reader }

func (s searched) all(ctx context.Context, scope store.Scope) ([]*span.Trace, error) {
	page, err := s.List(ctx, store.Query{Scope: scope, Limit: store.MaxPage})
	if err != nil {
		return nil, err
	}
	var out []*span.Trace
	for i := range page.Traces {
		r, err := s.Trace(ctx, scope, page.Traces[i].ID)
		if err != nil {
			return nil, err
		}
		out = append(out, r.Trace)
	}
	return out, nil
}

func (s searched) names(ctx context.Context, q store.SpanQuery, of func(*span.Span) string) ([]string, error) {
	all, err := s.all(ctx, q.Scope)
	found := map[string]bool{}
	for _, t := range all {
		for _, s := range t.Spans {
			if q.Fits(s) {
				found[of(s)] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found)), err
}

// Services implements store.Spanner.
func (s searched) Services(ctx context.Context, scope store.Scope) ([]string, error) {
	return s.names(ctx, store.SpanQuery{Scope: scope}, func(s *span.Span) string { return s.Service })
}

// Operations implements store.Spanner.
func (s searched) Operations(ctx context.Context, scope store.Scope, service string) ([]string, error) {
	q := store.SpanQuery{Scope: scope, Service: service}
	return s.names(ctx, q, func(s *span.Span) string { return s.Name })
}

// Search implements store.Spanner.
func (s searched) Search(ctx context.Context, q store.SpanQuery) ([]trace.TraceID, error) {
	all, err := s.all(ctx, q.Scope)
	if err != nil {
		return nil, err
	}
	first := func(t *span.Trace) time.Time {
		return slices.MinFunc(t.Spans, func(a, b *span.Span) int { return a.Start.Compare(b.Start.Time) }).Start.Time
	}
	slices.SortFunc(all, func(a, b *span.Trace) int {
		return cmp.Or(first(b).Compare(first(a)), bytes.Compare(b.ID[:], a.ID[:]))
	})
	var out []trace.TraceID
	for _, t := range all {
		if slices.ContainsFunc(t.Spans, q.Fits) && len(out) < store.PageLength(q.Limit) {
			out = append(out, t.ID)
		}
	}
	return out, nil
}

// anySpan returns a random query for spans.
func anySpan(random *rand.Rand) store.SpanQuery {
	q := store.SpanQuery{Scope: anyScope(random), Limit: 1 + random.IntN(20)}
	switch random.IntN(6) {
	case 0:
		q.Service = "kubelet"
	case 1:
		q.Service, q.Operation = "someone", "update ConfigMap" // of amendments
	case 2:
		q.Attributes = map[string]string{store.AttributeObjectName: fmt.Sprint("pod-", random.IntN(5))}
	case 3:
		q.Attributes = map[string]string{store.AttributeObjectName: fmt.Sprint("late-", random.IntN(5))}
	case 4:
		q.Operation, q.Longer = span.NamePull, 1800*time.Millisecond
	}
	if random.IntN(3) == 0 {
		q.Since, q.Until = spantest.At(200).Time, spantest.At(900).Time
	}
	return q
}

// TestSearchAnyPlace: a search, and the lists of names, are the same wherever the traces are.
func TestSearchAnyPlace(t *testing.T) {
	const n = 18
	seeds, rounds := uint64(2), 24
	if testing.Short() {
		seeds, rounds = 1, 18
	}
	for seed := range seeds {
		random := rand.New(rand.NewPCG(seed, 2))
		r := newRoom(t)
		for _, tr := range some(random, n) {
			r.add(tr)
			r.move(len(r.at) - 1)
		}
		found := 0
		for round := range rounds {
			if random.IntN(2) == 0 {
				r.amend(random.IntN(n))
			}
			if random.IntN(8) == 0 {
				r.reopen()
			}
			q := anySpan(random)
			oracle, all := searched{r.permitted(q.Scope)}, q
			all.Scope = store.Scope{}
			want, err := oracle.Search(t.Context(), all)
			must(t, err)
			got, err := r.view.Search(t.Context(), q)
			must(t, err)
			if d := gocmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
				t.Fatalf("seed %d, round %d, %+v: -oracle +view:\n%s", seed, round, q, d)
			}
			found += len(got)
			wantNames, err := oracle.Services(t.Context(), store.Scope{})
			must(t, err)
			gotNames, err := r.view.Services(t.Context(), q.Scope)
			must(t, err)
			wantOperations, err := oracle.Operations(t.Context(), store.Scope{}, q.Service)
			must(t, err)
			gotOperations, err := r.view.Operations(t.Context(), q.Scope, q.Service)
			must(t, err)
			if d := gocmp.Diff(
				[][]string{wantNames, wantOperations}, [][]string{gotNames, gotOperations}, cmpopts.EquateEmpty(),
			); d != "" {
				t.Fatalf("seed %d, round %d, names: -oracle +view:\n%s", seed, round, d)
			}
			r.move(random.IntN(n))
		}
		if found < 2*rounds {
			t.Errorf("seed %d: all searches found only %d traces", seed, found)
		}
	}
}

// TestSearchUnavailable: a list without its reason of incompleteness must be complete.
func TestSearchUnavailable(t *testing.T) {
	r := newRoom(t)
	for _, tr := range some(rand.New(rand.NewPCG(1, 1)), 2) {
		r.add(tr)
		r.move(len(r.at) - 1)
	}
	r.away = fmt.Errorf("%w: for a test", store.ErrUnavailable)
	if got, err := r.view.Search(t.Context(), store.SpanQuery{}); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("Search without an archive: %v, %v; want ErrUnavailable", got, err)
	}
	if got, err := r.view.Services(t.Context(), store.Scope{}); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("Services without an archive: %v, %v; want ErrUnavailable", got, err)
	}
}
