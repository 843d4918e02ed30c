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

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

const (
	// archiveTime is the longest wait for the archive to have the finished lifecycles of the log.
	archiveTime = 2 * time.Second
	// briefTime is the time in which the answer to a search is no costly question.
	briefTime = 200 * time.Millisecond
	// checkEvery is the number of lifecycles between two checks of the time.
	checkEvery = 256
)

// search answers with do. A costly query that takes longer than briefTime becomes a costly question: it
// begins again, within the limits of questions.
func (v *View) search(ctx context.Context, costly bool, do func(context.Context) error) error {
	if !costly {
		return do(ctx)
	}
	brief, cancel := context.WithTimeout(ctx, v.briefTime)
	defer cancel()
	err := do(brief)
	if err == nil || brief.Err() == nil || ctx.Err() != nil {
		return err
	}
	return v.questions.Do(ctx, do)
}

// Find implements store.Finder.
func (v *View) Find(ctx context.Context, q store.FindQuery) (*store.FindPage, error) {
	m, hidden, err := v.begin(ctx, &q.Scope)
	if err != nil {
		return nil, err
	}
	l := &lister[store.Lifecycle]{
		hidden: func(l *store.Lifecycle) bool { return hidden[l.Trace] },
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
	out := &store.FindPage{Since: q.Since}
	err = v.questions.Do(ctx, func(ctx context.Context) error {
		if err := v.liveLifecycles(ctx, m, &q, hidden, l.add); err != nil {
			return err
		}
		err := v.archivedLifecycles(ctx, q, l, &out.Incomplete)
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

// archivedLifecycles adds the matching lifecycles of the archive.
func (v *View) archivedLifecycles(
	ctx context.Context, q store.FindQuery, to *lister[store.Lifecycle], incomplete *string,
) error {
	if q.Open {
		return nil
	}
	archive, err := v.archive()
	if err != nil {
		return err
	}
	return to.fill(func() (page []store.Lifecycle, last bool, err error) {
		p, err := archive.Find(ctx, q)
		if err != nil {
			return nil, true, err
		}
		q.After, *incomplete = p.Next, cmp.Or(*incomplete, p.Incomplete)
		return p.Lifecycles, p.Next == "", nil
	})
}

// liveLifecycles calls add with the matching lifecycles in memory.
func (v *View) liveLifecycles(
	ctx context.Context, m *moment, q *store.FindQuery, hidden map[trace.TraceID]bool, add func(store.Lifecycle),
) error {
	evaluated := 0
	for _, h := range m.traces() {
		if hidden[h.TraceID] || q.Open && !h.open {
			continue
		}
		all, err := v.lifecycles(ctx, m, h, q.Now)
		if err != nil {
			return err
		}
		var latest *store.Lifecycle
		for i := range all {
			if evaluated++; evaluated%checkEvery == 0 && ctx.Err() != nil {
				return context.Cause(ctx)
			}
			one := &all[i]
			switch {
			case !q.Fits(one):
			case !q.Traces:
				add(foundOf(one))
			case latest == nil || store.CompareLifecycles(one, latest) < 0:
				latest = one
			}
		}
		if latest != nil {
			add(foundOf(latest))
		}
	}
	return context.Cause(ctx)
}

// foundOf returns a lifecycle as a page of Find has it.
func foundOf(l *store.Lifecycle) store.Lifecycle {
	out := *l
	out.Steps = nil
	return out
}

// lifecycles returns the lifecycles of a trace in memory at the time now. There are none if the entry
// has left the log.
func (v *View) lifecycles(ctx context.Context, m *moment, h *held, now time.Time) ([]store.Lifecycle, error) {
	t, err := v.load(ctx, h)
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if h.open {
		return store.LifecyclesOf(t, now), nil
	}
	if further := m.repeated[h.TraceID]; len(further) > 0 {
		one := *t
		one.Spans = slices.Clone(t.Spans)
		r := &store.Record{Trace: &one}
		for _, h := range further {
			more, err := v.load(ctx, h)
			if err != nil && !missing(err) {
				return nil, err
			}
			if err == nil {
				join(r, more)
			}
		}
		t = r.Trace
	}
	all := store.LifecyclesOf(t, h.AsOf)
	store.Finish(all)
	return all, nil
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
	m, hidden, err := v.begin(ctx, &q.Scope)
	if err != nil {
		return nil, err
	}
	q.Scope.Except = slices.AppendSeq(slices.Clone(q.Scope.Except), maps.Keys(hidden))
	var page *store.GroupPage
	err = v.questions.Do(ctx, func(ctx context.Context) error {
		waiting, err := v.waiting(ctx, m, &q.FindQuery, g)
		if err != nil {
			return err
		}
		archive, err := v.archive()
		left := 0
		if err == nil {
			left = v.archiving(ctx, waiting)
			page, err = archive.Group(ctx, q)
		}
		switch {
		case away(err):
			page = g.Page()
			page.Incomplete = err.Error()
		case err != nil:
			return err
		case left > 0:
			page.Incomplete = cmp.Or(page.Incomplete,
				fmt.Sprintf("%d finished lifecycles are not in the archive yet, and are not counted", left))
		}
		return v.liveLifecycles(ctx, m, &q.FindQuery, hidden, func(l store.Lifecycle) {
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

// waiting adds the matching lifecycles of the log to g. It returns their numbers by entry.
func (v *View) waiting(
	ctx context.Context, m *moment, q *store.FindQuery, g *store.Grouping,
) (map[uint64]int, error) {
	out := map[uint64]int{}
	evaluated := 0
	for _, h := range m.finished {
		if slices.Contains(q.Scope.Except, h.TraceID) {
			continue
		}
		all, err := v.lifecycles(ctx, m, h, q.Now)
		if err != nil {
			return nil, err
		}
		for i := range all {
			if evaluated++; evaluated%checkEvery == 0 && ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if q.Fits(&all[i]) {
				out[h.Seq]++
				g.Add(&all[i])
			}
		}
	}
	return out, context.Cause(ctx)
}

// archiving waits until the entries have left the log. It returns the sum of the numbers of the
// others.
func (v *View) archiving(ctx context.Context, entries map[uint64]int) int {
	wait := time.NewTimer(v.archiveTime)
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
