// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// List returns the traces that match q, the latest start first.
func (s *Store) List(ctx context.Context, q store.Query) (*store.Page, error) {
	limit := store.PageLength(q.Limit)
	newest, args, err := newestTraces(q, limit+1)
	if err != nil {
		return nil, err
	}
	page := &store.Page{}
	if q.Open {
		return page, nil // an archive has none
	}
	err = s.db.Read(ctx, func(from database.Querier) error {
		// As in lifecycleRows, the costly part gives one row.
		var nums string
		if err := database.Scan(
			ctx, from, "SELECT json_group_array(n) FROM ("+newest+")", args, []any{&nums}, nothing,
		); err != nil {
			return err
		}
		page.Traces, _, err = summaries(
			ctx, from, " WHERE num IN (SELECT value FROM json_each(?))"+newestStart, []any{nums},
		)
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

// newestStart is the order of List.
const newestStart = " ORDER BY start DESC, id DESC"

// maxArms bounds the namespaces of which each is searched in an index of its own.
const maxArms = 16

// newestTraces returns a query for the numbers n of the first traces that match q. Within few namespaces, each has its
// own search: an index has the traces of one namespace in order. Of the others, only those that are newer than the last
// one of such a page are examined.
func newestTraces(q store.Query, limit int) (query string, args []any, err error) {
	s := q.Scope
	if s.Clusters != nil || !s.Usual() || len(s.Namespaces) == 0 || len(s.Namespaces) > maxArms {
		f, err := traceFilter(q)
		return newestOf(f), append(f.args, limit), err
	}
	arm := func(term string, terms ...any) error {
		f := &filter{}
		f.limit(s, "traces")
		f.add(term, terms...)
		if err := restrictTraces(f, q); err != nil {
			return err
		}
		if query != "" {
			query += " UNION ALL "
		}
		query, args = query+"SELECT * FROM ("+newestOf(f)+")", append(append(args, f.args...), limit)
		return nil
	}
	for _, namespace := range slices.Compact(slices.Sorted(slices.Values(s.Namespaces))) {
		if err := arm("sole = ?", namespace); err != nil {
			return "", nil, err
		}
	}
	others := whole(s, "traces")
	others.add("start >= ifnull((SELECT start FROM ("+query+") ORDER BY start DESC LIMIT 1 OFFSET ?), ?)",
		append(slices.Clone(args), limit-1, nanos(earliest))...)
	if err := arm(others.all(), others.args...); err != nil {
		return "", nil, err
	}
	return query + newestStart + " LIMIT ?", append(args, limit), nil
}

// newestOf returns the first traces that a filter selects.
func newestOf(f *filter) string {
	return "SELECT num AS n, start, id FROM traces" + f.String() + newestStart + " LIMIT ?"
}

func traceFilter(q store.Query) (*filter, error) {
	f := &filter{}
	f.visible(q.Scope, "traces")
	return f, restrictTraces(f, q)
}

// restrictTraces adds the conditions of q, apart from its scope.
func restrictTraces(f *filter, q store.Query) error {
	f.add("phase > 0")
	if len(q.IDs) > 0 {
		f.among("id", q.IDs)
	}
	f.between("start", q.Since, q.Until)
	if q.After != "" {
		at, key, err := q.After.Position(len(trace.TraceID{}))
		if err != nil {
			return err
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
	if q.Worse {
		f.add("aftermath IS NOT NULL") // that of the index
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
	return nil
}
