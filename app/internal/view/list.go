// SPDX-License-Identifier: Apache-2.0

package view

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

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
		hidden: func(s *store.Summary) bool { return r.hidden[s.ID] },
		limit:  store.PageLength(r.q.Limit),
		key:    func(s *store.Summary) string { return string(s.ID[:]) },
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
	if err := r.summaries(ctx, &r.q, l.add); err != nil {
		return nil, err
	}
	out := &store.Page{Incomplete: r.behind}
	if err := r.archived(ctx, l); away(err) {
		out.Incomplete = err.Error()
	} else if err != nil {
		return nil, err
	}
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
	q.Scope.Except = slices.Concat(q.Scope.Except, ids)
	return to.fill(func() (page []store.Summary, last bool, err error) {
		p, err := archive.List(ctx, q)
		if err != nil {
			return nil, true, err
		}
		q.After = p.Next
		for i := range p.Traces {
			r.countAmended(&p.Traces[i])
		}
		return p.Traces, p.Next == "", nil
	})
}

// amendedSummaries calls add with the archived traces that have a matching object only in the log.
// It leaves out those of except.
func (r *list) amendedSummaries(
	ctx context.Context, archive store.Reader, except []trace.TraceID, add func(store.Summary),
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
