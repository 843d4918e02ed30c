// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Find implements store.Finder.
func (v *View) Find(ctx context.Context, q store.FindQuery) (*store.FindPage, error) {
	if err := q.Begin(); err != nil {
		return nil, err
	}
	from, err := v.begin(ctx, q.Scope)
	if err != nil {
		return nil, err
	}
	if err := from.withheld(q.Where, q.Sort); err != nil {
		return nil, err
	}
	q.Scope = from.scope
	q.Since = q.Earliest()
	l := &lister[store.Lifecycle]{
		limit: store.PageLength(q.Limit),
		key:   func(l *store.Lifecycle) string { return string(l.Key()) },
		order: q.Compare,
	}
	if q.Traces {
		l.key = func(l *store.Lifecycle) string { return string(l.Trace[:]) }
	}
	if l.after, err = q.Behind(); err != nil {
		return nil, err
	}
	out := &store.FindPage{Since: q.Since, Incomplete: from.behind}
	find := &finding{from, q}
	err = v.limits.Do(ctx, func(ctx context.Context) error {
		if err := from.lifecycles(ctx, from.traces(), &q, l.add); err != nil {
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
	out.Incomplete = cmp.Or(out.Incomplete, from.partial)
	var more bool
	if out.Lifecycles, more = l.page(); more {
		out.Next = q.Cursor(&out.Lifecycles[len(out.Lifecycles)-1])
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
	q.Scope.Except = slices.Concat(q.Scope.Except, ids, r.unarchived())
	if err := to.fill(func() (page []store.Lifecycle, last bool, err error) {
		p, err := archive.Find(ctx, q)
		if err != nil {
			return nil, true, err
		}
		q.After, *incomplete = p.Next, cmp.Or(*incomplete, p.Incomplete)
		if r.hidesNodes() {
			for i := range p.Lifecycles {
				withoutNode(&p.Lifecycles[i])
			}
		}
		return p.Lifecycles, p.Next == "", nil
	}); err != nil {
		return err
	}
	of, err := r.sharedQuery(to)
	if err != nil {
		return err
	}
	shared, err := r.shared(ctx, archive, of)
	if err != nil {
		return err
	}
	return r.lifecycles(ctx, shared, &r.q, to.add)
}

// sharedQuery returns the query for the shared traces that may have an entry of the page. Only in the order of the
// starts, the page and its cursor bound them.
func (r *finding) sharedQuery(to *lister[store.Lifecycle]) (store.SharedQuery, error) {
	of := store.SharedQuery{Since: r.q.Since, Until: r.q.Until}
	if r.q.Sort != nil {
		return of, nil
	}
	if least := to.least(); least != nil && least.Start.After(of.Since) {
		of.Since = least.Start
	}
	place, err := r.q.Place()
	if place != nil {
		of.Until = behindCursor(of.Until, place.Start.UnixNano())
	}
	return of, err
}

// Group implements store.Finder. The archive counts its finished lifecycles and those of the log, each once. Without
// the archive, those of the log are the answer.
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
	expressions := []user{q.Where, q.Of}
	for _, by := range q.By {
		expressions = append(expressions, by)
	}
	if err := from.withheld(expressions...); err != nil {
		return nil, err
	}
	q.Scope = from.scope
	var page *store.GroupPage
	err = v.limits.Do(ctx, func(ctx context.Context) (err error) {
		page, err = (&grouping{from, &q, g}).page(ctx)
		return err
	})
	return page, err
}

// grouping is the answer to a question for statistics. Its groups are those of changes.
type grouping struct {
	*reading
	q      *store.GroupQuery
	groups *store.Grouping
}

func (r *grouping) page(ctx context.Context) (*store.GroupPage, error) {
	among := slices.Collect(maps.Values(r.finished))
	archive, missing := r.archive()
	var claimed []*store.Record
	var ids []trace.TraceID
	if missing == nil {
		var shared []*held
		claimed, ids, missing = r.claimed(ctx, archive)
		if missing == nil {
			shared, missing = r.shared(ctx, archive, store.SharedQuery{Since: r.q.Since, Until: r.q.Until})
		}
		among = append(among, shared...)
	}
	if missing != nil && !away(missing) {
		return nil, missing
	}
	for _, h := range among {
		ids = append(ids, h.TraceID)
	}
	also, err := r.ended(ctx, among, claimed)
	if err != nil {
		return nil, err
	}
	var page *store.GroupPage
	if missing == nil {
		of := *r.q
		of.Scope.Except = slices.Concat(of.Scope.Except, ids)
		if !of.Changes {
			of.Also = also
		}
		page, missing = archive.Group(ctx, of)
	}
	switch {
	case away(missing) && r.q.Changes:
		page = &store.GroupPage{Since: r.q.Since, Incomplete: missing.Error()}
	case away(missing):
		for i := range also {
			r.groups.Add(&also[i])
		}
		page = r.groups.Page()
		page.Incomplete = missing.Error()
	case missing != nil:
		return nil, missing
	}
	page.Incomplete = cmp.Or(page.Incomplete, r.behind, r.partial)
	if r.q.Changes {
		return page, r.addChanges(ctx, page)
	}
	return page, r.lifecycles(ctx, r.traces(), &r.q.FindQuery, func(l store.Lifecycle) {
		if l.Outcome == "" {
			page.Open++
		}
	})
}

// ended returns the matching lifecycles of finished traces. Those of changes become groups.
func (r *grouping) ended(ctx context.Context, among []*held, claimed []*store.Record) ([]store.Lifecycle, error) {
	var out []store.Lifecycle
	add := func(all []store.Lifecycle, sum *store.Summary) error {
		for i := range all {
			if i%checkEvery == 0 && ctx.Err() != nil {
				return context.Cause(ctx)
			}
			switch {
			case !r.q.Fits(&all[i]):
			case !r.q.Changes:
				out = append(out, all[i])
			case len(r.q.States) == 0 || slices.Contains(r.q.States, sum.State()):
				r.groups.AddChange(&all[i], sum.State())
			}
		}
		return nil
	}
	for _, h := range among {
		all, err := r.lifecyclesOf(ctx, h, r.q.Now)
		sum := &store.Summary{}
		if err == nil && r.q.Changes && len(all) > 0 {
			if sum, err = r.summarize(ctx, h); err == nil {
				var revised store.Summary
				revised, err = r.revised(ctx, h, *sum)
				sum = &revised
			}
		}
		if err == nil {
			err = add(all, sum)
		}
		if err != nil && !missing(err) {
			return nil, err
		}
	}
	for _, of := range claimed {
		if err := add(finishedLifecycles(of.Trace, of.AsOf), &of.Summary); err != nil {
			return nil, err
		}
	}
	return out, context.Cause(ctx)
}

// addChanges adds the changes in memory to a page of those of the archive: open ones whenever they began, unless the
// question has an end.
func (r *grouping) addChanges(ctx context.Context, page *store.GroupPage) error {
	states := map[trace.TraceID]span.State{}
	open := store.Query{Open: true, States: r.q.States}
	if err := r.summaries(ctx, r.traces(), &open, func(s store.Summary) { states[s.ID] = s.State() }); err != nil {
		return err
	}
	r.groups.AddGroups(page.Groups)
	find := r.q.FindQuery
	find.Open, find.Traces, find.Sort = true, false, nil
	if find.Until.IsZero() {
		find.Since = time.Time{}
	}
	if err := r.lifecycles(ctx, r.traces(), &find, func(l store.Lifecycle) {
		if state, is := states[l.Trace]; is {
			r.groups.AddChange(&l, state)
		}
	}); err != nil {
		return err
	}
	all := r.groups.Page()
	page.Groups, page.More = all.Groups, page.More+all.More
	return nil
}
