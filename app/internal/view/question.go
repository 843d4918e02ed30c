// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Find implements store.Finder.
func (v *View) Find(ctx context.Context, q store.FindQuery) (*store.FindPage, error) {
	from, err := v.begin(ctx, q.Scope)
	if err != nil {
		return nil, err
	}
	q.Scope = from.scope
	l := &lister[store.Lifecycle]{
		hidden: func(l *store.Lifecycle) bool { return from.hidden[l.Trace] },
		limit:  store.PageLength(q.Limit),
		key:    func(l *store.Lifecycle) string { return string(l.Key()) },
		order:  store.CompareLifecycles,
	}
	if q.Traces {
		l.key = func(l *store.Lifecycle) string { return string(l.Trace[:]) }
	}
	if l.after, err = store.Behind(q.After); err != nil {
		return nil, err
	}
	q.Since = q.Earliest()
	out := &store.FindPage{Since: q.Since, Incomplete: from.behind}
	find := &finding{from, q}
	err = v.limits.Do(ctx, func(ctx context.Context) error {
		if err := from.lifecycles(ctx, &q, l.add); err != nil {
			return err
		}
		err := find.archived(ctx, l, &out.Incomplete)
		if away(err) {
			out.Incomplete, err = err.Error(), nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var more bool
	if out.Lifecycles, more = l.page(); more {
		out.Next = out.Lifecycles[len(out.Lifecycles)-1].Cursor()
	}
	return out, nil
}

// finding is the answer to a question about lifecycles.
type finding struct {
	*reading
	q store.FindQuery
}

// archived adds the matching lifecycles of the archive.
func (r *finding) archived(ctx context.Context, to *lister[store.Lifecycle], incomplete *string) error {
	if r.q.Open {
		return nil
	}
	archive, err := r.archive()
	if err != nil {
		return err
	}
	claimed, ids, err := r.claimed(ctx, archive)
	if err != nil {
		return err
	}
	for _, of := range claimed {
		addFitting(&r.q, finishedLifecycles(of.Trace, of.AsOf), to.add)
	}
	q := r.q
	q.Scope.Except = slices.Concat(q.Scope.Except, ids)
	return to.fill(func() (page []store.Lifecycle, last bool, err error) {
		p, err := archive.Find(ctx, q)
		if err != nil {
			return nil, true, err
		}
		q.After, *incomplete = p.Next, cmp.Or(*incomplete, p.Incomplete)
		return p.Lifecycles, p.Next == "", nil
	})
}

// Group implements store.Finder. The archive counts. Before, the answer waits until the archive has
// the matching lifecycles of the log, so that each counts once. After two seconds the page says how
// many are missing. Without the archive, those of the log are the answer.
func (v *View) Group(ctx context.Context, q store.GroupQuery) (*store.GroupPage, error) {
	q.Since = q.Earliest()
	g, err := store.NewGrouping(&q)
	if err != nil {
		return nil, err
	}
	from, err := v.begin(ctx, q.Scope)
	if err != nil {
		return nil, err
	}
	q.Scope = from.scope
	q.Scope.Except = slices.AppendSeq(slices.Clone(q.Scope.Except), maps.Keys(from.hidden))
	var page *store.GroupPage
	err = v.limits.Do(ctx, func(ctx context.Context) error {
		waiting, err := (&finding{from, q.FindQuery}).waiting(ctx, g)
		if err != nil {
			return err
		}
		archive, err := from.archive()
		left := 0
		if err == nil {
			left = v.archiving(ctx, waiting)
			page, err = archive.Group(ctx, q)
		}
		switch {
		case away(err) && q.Changes:
			page = &store.GroupPage{Since: q.Since, Incomplete: err.Error()}
		case away(err):
			page = g.Page()
			page.Incomplete = err.Error()
		case err != nil:
			return err
		case left > 0:
			page.Incomplete = cmp.Or(page.Incomplete,
				fmt.Sprintf("%d finished lifecycles are not in the archive yet, and are not counted", left))
		}
		page.Incomplete = cmp.Or(page.Incomplete, from.behind)
		if q.Changes {
			return from.addOpen(ctx, &q, page)
		}
		return from.lifecycles(ctx, &q.FindQuery, func(l store.Lifecycle) {
			if l.Outcome == "" {
				page.Open++
			}
		})
	})
	if err != nil {
		return nil, err
	}
	return page, nil
}

// addOpen adds the open changes to a page of those of the archive: whenever they began, unless the question has an
// end.
func (r *reading) addOpen(ctx context.Context, q *store.GroupQuery, page *store.GroupPage) error {
	states := map[trace.TraceID]span.State{}
	open := store.Query{Open: true, States: q.States}
	if err := r.summaries(ctx, &open, func(s store.Summary) { states[s.ID] = s.State() }); err != nil {
		return err
	}
	g, err := store.NewGrouping(q)
	if err != nil {
		return err
	}
	g.AddGroups(page.Groups)
	find := q.FindQuery
	find.Open, find.Traces = true, false
	if find.Until.IsZero() {
		find.Since = time.Time{}
	}
	if err := r.lifecycles(ctx, &find, func(l store.Lifecycle) {
		if state, is := states[l.Trace]; is {
			g.AddChange(&l, state)
		}
	}); err != nil {
		return err
	}
	all := g.Page()
	page.Groups, page.More = all.Groups, page.More+all.More
	return nil
}

// waiting adds the matching lifecycles of the log to g. It returns their numbers by entry.
func (r *finding) waiting(ctx context.Context, g *store.Grouping) (map[uint64]int, error) {
	out := map[uint64]int{}
	evaluated := 0
	for _, h := range r.finished {
		if slices.Contains(r.q.Scope.Except, h.TraceID) {
			continue
		}
		all, err := r.lifecyclesOf(ctx, h, r.q.Now)
		if err != nil {
			return nil, err
		}
		for i := range all {
			if evaluated++; evaluated%checkEvery == 0 && ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if r.q.Fits(&all[i]) {
				out[h.Seq]++
				g.Add(&all[i])
			}
		}
	}
	for id, entries := range r.amended {
		late, err := r.late(ctx, id)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(late, claims) { // the archive must have the newest claims
			for _, h := range entries {
				out[h.Seq]++
			}
		}
	}
	return out, context.Cause(ctx)
}

// archiving waits until the entries have left the log. It returns the sum of the numbers of the
// others.
func (v *View) archiving(ctx context.Context, entries map[uint64]int) int {
	wait := time.NewTimer(v.limits.archiveTime)
	defer wait.Stop()
	for {
		left := 0
		m := v.present.Load()
		for _, h := range m.pending {
			left += entries[h.Seq]
		}
		if left == 0 {
			return 0
		}
		select {
		case <-m.replaced:
		case <-wait.C:
			return left
		case <-ctx.Done():
			return left
		}
	}
}
