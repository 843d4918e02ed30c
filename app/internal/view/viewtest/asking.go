// SPDX-License-Identifier: Apache-2.0

package viewtest

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Asking is an archive whose questions are answered in the simplest way: from all traces, in memory.
type Asking struct{ store.Archive }

var _ store.Finder = Asking{}

// Find implements store.Finder.
func (a Asking) Find(ctx context.Context, q store.FindQuery) (*store.FindPage, error) {
	all, err := a.matching(ctx, &q)
	if err != nil {
		return nil, err
	}
	seen := map[trace.TraceID]bool{}
	page := &store.FindPage{Since: q.Earliest()}
	behind, err := store.Behind(q.After)
	if err != nil {
		return nil, err
	}
	for i := range all {
		l := &all[i]
		if q.Traces && seen[l.Trace] {
			continue
		}
		seen[l.Trace] = true
		switch {
		case !behind(l):
		case len(page.Lifecycles) == store.PageLength(q.Limit):
			page.Next = page.Lifecycles[len(page.Lifecycles)-1].Cursor()
			return page, nil
		default:
			page.Lifecycles = append(page.Lifecycles, *l)
		}
	}
	return page, nil
}

// Group implements store.Finder.
func (a Asking) Group(ctx context.Context, q store.GroupQuery) (*store.GroupPage, error) {
	g, err := store.NewGrouping(&q)
	if err != nil {
		return nil, err
	}
	all, err := a.matching(ctx, &q.FindQuery)
	for i := range all {
		g.Add(&all[i])
	}
	return g.Page(), err
}

// matching returns the lifecycles that match, in order.
func (a Asking) matching(ctx context.Context, q *store.FindQuery) ([]store.Lifecycle, error) {
	var out []store.Lifecycle
	traces := store.Query{Limit: store.MaxPage}
	for {
		page, err := a.List(ctx, traces)
		if err != nil {
			return nil, err
		}
		for i := range page.Traces {
			r, err := a.Trace(ctx, page.Traces[i].ID)
			if err != nil {
				return nil, err
			}
			all := store.LifecyclesOf(r.Trace, r.AsOf)
			store.Finish(all)
			for j := range all {
				if q.Fits(&all[j]) {
					out = append(out, all[j])
				}
			}
		}
		if traces.After = page.Next; traces.After == "" {
			slices.SortFunc(out, func(a, b store.Lifecycle) int { return store.CompareLifecycles(&a, &b) })
			return out, nil
		}
	}
}
