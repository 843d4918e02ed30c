// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// List returns the traces that match q, the latest start first.
func (s *Store) List(ctx context.Context, q store.Query) (*store.Page, error) {
	f, err := traceFilter(q)
	if err != nil {
		return nil, err
	}
	limit := store.PageLength(q.Limit)
	page := &store.Page{}
	if q.Open {
		return page, nil // an archive has none
	}
	err = s.db.Read(ctx, func(from database.Querier) error {
		// As in lifecycleRows, the costly part gives one row.
		const order = " ORDER BY start DESC, id DESC"
		var nums string
		if err := database.Scan(
			ctx, from, "SELECT json_group_array(n) FROM (SELECT num AS n FROM traces"+f.String()+order+" LIMIT ?)",
			append(f.args, limit+1), []any{&nums}, nothing,
		); err != nil {
			return err
		}
		page.Traces, _, err = summaries(ctx, from, " WHERE num IN (SELECT value FROM json_each(?))"+order, []any{nums})
		return err
	})
	if err != nil {
		return nil, s.db.Failed(ctx, "list traces of", err)
	}
	if len(page.Traces) > limit {
		page.Traces = page.Traces[:limit]
		last := page.Traces[limit-1]
		page.Next = store.NewCursor(nanos(last.Start), last.ID[:])
	}
	return page, nil
}

func traceFilter(q store.Query) (*filter, error) {
	f := &filter{}
	f.add("phase > 0")
	f.visible(q.Scope, "traces")
	if len(q.IDs) > 0 {
		f.among("id", q.IDs)
	}
	f.between("start", q.Since, q.Until)
	if q.After != "" {
		at, key, err := q.After.Position(len(trace.TraceID{}))
		if err != nil {
			return nil, err
		}
		f.add("(start, id) < (?, ?)", at, key)
	}
	anyOf(f, "outcome", q.Outcomes)
	if len(q.States) > 0 {
		inStates(f, "outcome", q.States)
	}
	if len(q.Categories) > 0 {
		f.add("category > ''") // that of the index
		anyOf(f, "category", q.Categories)
	}
	if q.Slower > 0 {
		f.add("duration >= ?", int64(q.Slower))
	}
	if of := matching(q.Object); particular(q.Object) {
		f.add("num IN (SELECT o.trace FROM objects o"+of.String()+")", of.args...)
	} else if len(of.terms) > 0 {
		of.terms = append([]string{"o.trace = traces.num"}, of.terms...)
		f.add("EXISTS (SELECT 1 FROM objects o"+of.String()+")", of.args...)
	}
	return f, nil
}
