// SPDX-License-Identifier: Apache-2.0

package view

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// List implements store.Reader.
func (v *View) List(ctx context.Context, q store.Query) (page *store.Page, err error) {
	from, err := v.begin(ctx, q.Scope)
	if err != nil {
		return nil, err
	}
	q.Scope = from.scope
	err = v.limits.search(ctx, q.Costly(), func(ctx context.Context) (err error) {
		page, err = (&list{from, q}).page(ctx)
		return err
	})
	return page, err
}

// list is the answer to a query of traces.
type list struct {
	*reading
	q store.Query
}

func (r *list) page(ctx context.Context) (*store.Page, error) {
	l := &lister[store.Summary]{
		limit: store.PageLength(r.q.Limit),
		key:   func(s *store.Summary) string { return string(s.ID[:]) },
		order: func(a, b *store.Summary) int {
			return cmp.Or(b.Start.Compare(a.Start), bytes.Compare(b.ID[:], a.ID[:]))
		},
	}
	if r.q.After != "" {
		at, key, err := r.q.After.Position(len(trace.TraceID{}))
		if err != nil {
			return nil, err
		}
		l.after = func(s *store.Summary) bool {
			return cmp.Or(cmp.Compare(s.Start.UnixNano(), at), bytes.Compare(s.ID[:], key)) < 0
		}
	}
	if err := r.summaries(ctx, r.traces(), &r.q, l.add); err != nil {
		return nil, err
	}
	out := &store.Page{Incomplete: r.behind}
	if err := r.archived(ctx, l); away(err) {
		out.Incomplete = err.Error()
	} else if err != nil {
		return nil, err
	}
	out.Incomplete = cmp.Or(out.Incomplete, r.partial)
	var more bool
	if out.Traces, more = l.page(); more {
		last := &out.Traces[len(out.Traces)-1]
		out.Next = store.NewCursor(last.Start.UnixNano(), last.ID[:])
	}
	return out, nil
}

// archived adds the matching traces of the archive.
func (r *list) archived(ctx context.Context, to *lister[store.Summary]) error {
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
		if r.q.Fits(&of.Summary) && store.Touches(of.Trace, r.q.Object) {
			to.add(of.Summary)
		}
	}
	if err := r.amendedSummaries(ctx, archive, ids, to.add); err != nil {
		return err
	}
	q := r.q
	q.Scope.Except = slices.Concat(q.Scope.Except, ids, r.unarchived())
	if err := to.fill(func() (page []store.Summary, last bool, err error) {
		p, err := archive.List(ctx, q)
		if err != nil {
			return nil, true, err
		}
		q.After = p.Next
		for i := range p.Traces {
			r.countAmended(&p.Traces[i])
		}
		return p.Traces, p.Next == "", nil
	}); err != nil {
		return err
	}
	since, until, err := r.window(to)
	if err != nil {
		return err
	}
	shared, err := r.shared(
		ctx, archive, store.SharedQuery{IDs: r.q.IDs, Since: since, Until: until, Object: r.q.Object},
	)
	if err != nil {
		return err
	}
	return r.summaries(ctx, shared, &r.q, to.add)
}

// window returns the bounds of the time of further entries of the page.
func (r *list) window(of *lister[store.Summary]) (since, until time.Time, err error) {
	since, until = r.q.Since, r.q.Until
	if least := of.least(); least != nil && least.Start.After(since) {
		since = least.Start
	}
	if r.q.After == "" {
		return since, until, nil
	}
	at, _, err := r.q.After.Position(len(trace.TraceID{}))
	return since, behindCursor(until, at), err
}

// behindCursor returns the bound of time of the entries that are not before a cursor, in nanoseconds.
func behindCursor(until time.Time, at int64) time.Time {
	if end := time.Unix(0, at).Add(1); until.IsZero() || end.Before(until) {
		return end
	}
	return until
}

// amendedSummaries calls add with the archived traces that have a matching object only in the log.
// It leaves out those of except.
func (r *list) amendedSummaries(
	ctx context.Context, archive store.Stored, except []trace.TraceID, add func(store.Summary),
) error {
	if r.q.Object == (object.Ref{}) {
		return nil
	}
	for id, amendments := range r.amended {
		if r.live(id) != nil || slices.Contains(except, id) {
			continue // it has been added
		}
		fits, err := r.touches(ctx, amendments[0], r.q.Object)
		if err != nil {
			return err
		}
		if !fits {
			continue
		}
		stored, err := archive.Trace(ctx, r.scope, id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if sum := stored.Summary; r.q.Fits(&sum) {
			r.countAmended(&sum)
			add(sum)
		}
	}
	return nil
}
