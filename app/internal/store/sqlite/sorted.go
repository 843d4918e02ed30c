// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	questions "github.com/kube-lifeline/lifeline/app/internal/question/sqlite"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// sortedRows returns at most limit lifecycles in the order of q.Sort, without their lists and maps. SQLite computes the
// value once a row, and keeps only the first rows.
func sortedRows(ctx context.Context, from database.Querier, q *store.FindQuery, limit int) ([]*found, error) {
	place, err := q.Place()
	if err != nil {
		return nil, err
	}
	statement, args := sortedStatement(q, place, limit)
	var rows string // one row: see lifecycleRows
	if err := database.Scan(ctx, from, statement, args, []any{&rows}, nothing); err != nil {
		return nil, err
	}
	var ranked [][2]*int64
	if err := json.Unmarshal([]byte(rows), &ranked); err != nil {
		return nil, err
	}
	ids, ranks := make([]int64, len(ranked)), make(map[int64]store.Rank, len(ranked))
	for i, row := range ranked {
		ids[i] = *row[0]
		if row[1] != nil {
			ranks[ids[i]] = store.Rank{Value: *row[1], Known: true}
		}
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	out, err := theseLifecycles(ctx, from, string(list))
	for _, l := range out {
		l.Rank = ranks[l.id]
	}
	slices.SortFunc(out, func(a, b *found) int { return q.Compare(&a.Lifecycle, &b.Lifecycle) })
	return out, err
}

// sortedStatement returns a statement for the numbers and the values of the first lifecycles behind a place, as JSON.
// Its columns are named n, for the number, and x, for the value.
func sortedStatement(q *store.FindQuery, place *store.Lifecycle, limit int) (string, []any) {
	of, args := q.Sort.Operand(questions.Dialect{}, q.Now, 1)
	f := &filter{args: args}
	addLifecycles(f, q)
	values := "SELECT l.id AS n, l.trace AS trace, l.start AS start, l.span AS span, " + of.SQL + " AS x FROM " +
		questions.From(of.SQL, f.String()) + f.String() + once
	behind, order, sign := &filter{}, "DESC", "<"
	if q.Reverse {
		order, sign = "ASC", ">"
	}
	if place != nil {
		equal, same := "s.x IS NULL", []any(nil)
		if place.Rank.Known {
			equal, same = "s.x = ?", []any{place.Rank.Value}
		}
		term := equal + " AND (s.start, t.id, s.span) < (?, ?, ?)"
		same = append(same, nanos(place.Start), place.Trace[:], place.Span[:])
		if place.Rank.Known {
			term = "s.x " + sign + " ? OR s.x IS NULL OR " + term
			same = append([]any{place.Rank.Value}, same...)
		}
		behind.add("("+term+")", same...)
	}
	return "SELECT json_group_array(json_array(n, x)) FROM (SELECT s.n, s.x FROM (" + values +
		") AS s CROSS JOIN traces AS t ON t.num = s.trace" + behind.String() + " ORDER BY s.x " + order +
		" NULLS LAST, s.start DESC, t.id DESC, s.span DESC LIMIT ?)", slices.Concat(f.args, behind.args, []any{limit})
}
