// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/question"
	questions "github.com/kube-lifeline/lifeline/app/internal/question/sqlite"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// ask answers a costly question with do, within the limits.
func (s *Store) ask(ctx context.Context, do func(context.Context, database.Querier) error) error {
	err := s.questions.Do(ctx, func(ctx context.Context) error {
		return s.db.Read(ctx, func(q database.Querier) error { return do(ctx, q) })
	})
	if err != nil {
		return s.db.Failed(ctx, "ask", asDamage(err))
	}
	return nil
}

// lifecycleFilter returns the conditions of q, apart from its cursor.
func lifecycleFilter(q *store.FindQuery) *filter {
	f := &filter{}
	addLifecycles(f, q)
	return f
}

// addLifecycles adds the conditions of q, apart from its cursor. The parameters before those of f
// count, too.
func addLifecycles(f *filter, q *store.FindQuery) {
	f.between("l.start", q.Earliest(), q.Until)
	if q.Namespace != "" {
		f.add("l.namespace = ?", q.Namespace)
	}
	inScope(f, q.Scope)
	if q.Where != nil {
		c := q.Where.Condition(questions.Dialect{}, q.Now, len(f.args)+1)
		f.add(c.SQL, c.Args...)
	}
}

// inScope restricts lifecycles to those of the traces that a scope permits as a whole.
func inScope(f *filter, s store.Scope) {
	of := &filter{}
	switch {
	case s.All():
	case s.Clusters != nil: // the file does not have its cluster
		f.add("0")
	case s.Namespaces == nil && s.Usual(): // few traces are left out, and found at once
		if len(s.Except) > 0 {
			f.add("l.trace NOT IN (SELECT m.num FROM traces AS m WHERE m.id IN "+theseIDs+")", idList(s.Except))
		}
		if len(s.Without) > 0 {
			all := whole(s, "m")
			of.add("m.phase > 0 AND m.sole IS NULL")
			of.add("NOT ("+all.all()+")", all.args...)
			f.add("l.trace NOT IN (SELECT m.num FROM traces AS m"+of.String()+")", of.args...)
		}
	default:
		if s.Namespaces != nil { // what an index can use; a Namespace is permitted by its name
			anyOf(f, "l.namespace", append(slices.Clone(s.Namespaces), ""))
		}
		of.add("m.num = l.trace")
		of.visible(s, "m")
		f.add("EXISTS (SELECT 1 FROM traces AS m"+of.String()+")", of.args...)
	}
}

// found is a lifecycle with the numbers of its rows.
type found struct {
	store.Lifecycle
	id, trace int64
	start     int64
}

// Find implements store.Finder.
func (s *Store) Find(ctx context.Context, q store.FindQuery) (*store.FindPage, error) {
	if err := q.Begin(); err != nil {
		return nil, err
	}
	if q.Open {
		return &store.FindPage{Since: q.Earliest()}, nil
	}
	page := &store.FindPage{Since: q.Earliest()}
	limit := store.PageLength(q.Limit)
	err := s.ask(ctx, func(ctx context.Context, from database.Querier) error {
		all, err := findLifecycles(ctx, from, &q, limit+1)
		if err != nil {
			return err
		}
		if len(all) > limit {
			all = all[:limit]
			page.Next = q.Cursor(&all[limit-1].Lifecycle)
		}
		if err := further(ctx, from, all); err != nil {
			return err
		}
		for _, l := range all {
			page.Lifecycles = append(page.Lifecycles, l.Lifecycle)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return page, nil
}

// findLifecycles returns at most limit lifecycles, without their images and labels.
func findLifecycles(ctx context.Context, from database.Querier, q *store.FindQuery, limit int) ([]*found, error) {
	place, err := q.Place()
	switch {
	case err != nil:
		return nil, err
	case q.Sort != nil:
		return sortedRows(ctx, from, q, limit)
	case !q.Traces:
		return lifecycleRows(ctx, from, q, place, limit)
	}
	var out []*found
	seen := map[int64]bool{}
	after := place
	for {
		some, err := lifecycleRows(ctx, from, q, after, limit)
		if err != nil {
			return nil, err
		}
		for _, l := range some {
			if after = &l.Lifecycle; seen[l.trace] {
				continue
			}
			seen[l.trace] = true
			earlier, err := onEarlierPage(ctx, from, q, place, l)
			if err != nil {
				return nil, err
			}
			if earlier {
				continue
			}
			if out = append(out, l); len(out) == limit {
				return out, nil
			}
		}
		if len(some) < limit {
			return out, nil
		}
	}
}

// onEarlierPage reports whether an earlier page has a lifecycle of the trace of l. Those pages end at the place.
func onEarlierPage(
	ctx context.Context, from database.Querier, q *store.FindQuery, place *store.Lifecycle, l *found,
) (bool, error) {
	if place == nil {
		return false, nil
	}
	f := lifecycleFilter(q)
	f.add("l.trace = ?", l.trace)
	f.add("(l.start, t.id, l.span) >= (?, ?, ?)", nanos(place.Start), place.Trace[:], place.Span[:])
	there := false
	err := database.Scan(
		ctx, from, "SELECT 1 FROM "+lifecyclesOfTraces(f.String())+f.String()+" LIMIT 1",
		f.args, []any{&there}, nothing,
	)
	return there, err
}

// newestFirst is the order of Find.
const newestFirst = " ORDER BY l.start DESC, t.id DESC, l.span DESC"

// lifecyclesOfTraces returns the lifecycles l and their traces t for a statement with that part.
func lifecyclesOfTraces(part string) string {
	return questions.From(part) + " CROSS JOIN traces AS t ON t.num = l.trace"
}

// lifecycleRows returns at most limit lifecycles behind a place, without their lists and maps.
func lifecycleRows(
	ctx context.Context, from database.Querier, q *store.FindQuery, after *store.Lifecycle, limit int,
) ([]*found, error) {
	f := lifecycleFilter(q)
	if after != nil {
		at := nanos(after.Start)
		f.add("l.start <= ?", at) // what an index can use
		f.add("(l.start < ? OR (t.id, l.span) < (?, ?))", at, after.Trace[:], after.Span[:])
	}
	// The driver ends a query at its time only before the first row. So the costly part gives one row.
	var ids string
	err := database.Scan(
		ctx, from, "SELECT json_group_array(n) FROM (SELECT l.id AS n FROM "+lifecyclesOfTraces(f.String())+
			f.String()+newestFirst+" LIMIT ?)", append(f.args, limit), []any{&ids}, nothing,
	)
	if err != nil {
		return nil, err
	}
	return theseLifecycles(ctx, from, ids)
}

// theseLifecycles returns the lifecycles with the numbers of a JSON list, the latest start first, without their lists
// and maps.
func theseLifecycles(ctx context.Context, from database.Querier, ids string) ([]*found, error) {
	var out []*found
	var id, spanid []byte
	var one found
	tables := lifecycles()
	values := make([]any, len(tables.fields))
	to := []any{&one.id, &one.trace, &id, &spanid}
	for i := range values {
		to = append(to, &values[i])
	}
	err := database.Scan(
		ctx, from, tables.query+" WHERE l.id IN (SELECT value FROM json_each(?))"+newestFirst,
		[]any{ids}, to, func() error {
			l := one
			l.Trace, l.Span = traceID(id), spanID(spanid)
			for i := range tables.fields {
				tables.fields[i].Set(&l.Lifecycle.Lifecycle, values[i])
			}
			l.start = nanos(l.Start)
			out = append(out, &l)
			return nil
		},
	)
	return out, err
}

// furtherAtOnce is the number of lifecycles in one query for lists or maps.
const furtherAtOnce = 200

// further reads the lists and maps of lifecycles.
func further(ctx context.Context, from database.Querier, all []*found) error {
	for some := range slices.Chunk(all, furtherAtOnce) {
		byID := make(map[int64]*found, len(some))
		f := &filter{}
		ids := make([]any, len(some))
		for i, l := range some {
			byID[l.id], ids[i] = l, l.id
		}
		f.add("lifecycle IN ("+params(len(ids))+")", ids...)
		for _, c := range lifecycles().collections {
			if err := c.read(ctx, from, f, byID); err != nil {
				return err
			}
		}
	}
	return nil
}

// read reads the lists or maps of the lifecycles that f selects.
func (c *collection) read(ctx context.Context, from database.Querier, f *filter, byID map[int64]*found) error {
	var id int64
	var key, value string
	to, columns := []any{&id, &key}, "lifecycle, "+c.Column
	if c.Type == question.Map {
		to, columns = append(to, &value), columns+", value"
	}
	return database.Scan(
		ctx, from, "SELECT "+columns+" FROM "+c.Table+f.String()+" ORDER BY lifecycle, "+c.Column, f.args, to,
		func() error {
			l := byID[id]
			switch v := l.Values[c.Name].(type) {
			case []string:
				l.Values[c.Name] = append(v, key)
			case map[string]string:
				v[key] = value
			default:
				c.Set(&l.Lifecycle.Lifecycle, c.first(key, value))
			}
			return nil
		},
	)
}

// first returns a list or a map of one row.
func (c *collection) first(key, value string) any {
	if c.Type == question.Map {
		return map[string]string{key: value}
	}
	return []string{key}
}
