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

// ranked is the number of a lifecycle with its value and its start.
type ranked struct {
	id, start int64
	rank      store.Rank
}

// sortedRows returns at most limit lifecycles in the order of q.Sort, without their lists and maps. One scan keeps the
// first rows by value and start. Only the last of them may have equals, which an index finds. So no row of the scan
// needs its trace.
func sortedRows(ctx context.Context, from database.Querier, q *store.FindQuery, limit int) ([]*found, error) {
	place, err := q.Place()
	if err != nil {
		return nil, err
	}
	first, err := firstRanked(ctx, from, q, place, nil, limit)
	if err != nil {
		return nil, err
	}
	if len(first) == limit {
		last := first[limit-1]
		equal, err := firstRanked(ctx, from, q, place, &last, -1)
		if err != nil {
			return nil, err
		}
		first = append(slices.DeleteFunc(first, func(r ranked) bool {
			return r.rank == last.rank && r.start == last.start
		}), equal...)
	}
	ids, ranks := make([]int64, len(first)), make(map[int64]store.Rank, len(first))
	for i, r := range first {
		ids[i], ranks[r.id] = r.id, r.rank
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
	return out[:min(limit, len(out))], err
}

// firstRanked returns the first lifecycles behind a place by their value and start, or all that are equal to one in
// both.
func firstRanked(
	ctx context.Context, from database.Querier, q *store.FindQuery, place *store.Lifecycle, equal *ranked, limit int,
) ([]ranked, error) {
	of, args := q.Sort.Operand(questions.Dialect{}, q.Now, 1)
	f := &filter{args: args}
	addLifecycles(f, q)
	if equal != nil {
		f.add("l.start = ?", equal.start)
	}
	chosen := &filter{}
	if equal != nil {
		sameRank(chosen, equal.rank)
	}
	order, sign := "DESC", "<"
	if q.Reverse {
		order, sign = "ASC", ">"
	}
	if place != nil {
		at := nanos(place.Start)
		behind := &filter{}
		sameRank(behind, place.Rank)
		behind.add("(s.start < ? OR s.start = ? AND ((SELECT t.id FROM traces AS t WHERE t.num = s.trace), s.span) < (?, ?))",
			at, at, place.Trace[:], place.Span[:])
		if place.Rank.Known {
			chosen.add("(s.x "+sign+" ? OR s.x IS NULL OR "+behind.all()+")",
				append([]any{place.Rank.Value}, behind.args...)...)
		} else {
			chosen.add(behind.all(), behind.args...)
		}
	}
	var rows string // one row: see lifecycleRows
	err := database.Scan(
		ctx, from, "SELECT json_group_array(json_array(n, start, x)) FROM (SELECT * FROM (SELECT l.id AS n, "+
			"l.trace AS trace, l.start AS start, l.span AS span, "+of.SQL+" AS x FROM "+
			questions.From(of.SQL, f.String())+f.String()+once+") AS s"+chosen.String()+" ORDER BY x "+order+
			" NULLS LAST, start DESC LIMIT ?)", slices.Concat(f.args, chosen.args, []any{limit}), []any{&rows}, nothing,
	)
	if err != nil {
		return nil, err
	}
	var values [][3]*int64
	if err := json.Unmarshal([]byte(rows), &values); err != nil {
		return nil, err
	}
	out := make([]ranked, len(values))
	for i, v := range values {
		out[i] = ranked{id: *v[0], start: *v[1]}
		if v[2] != nil {
			out[i].rank = store.Rank{Value: *v[2], Known: true}
		}
	}
	return out, nil
}

// sameRank restricts the column x to a value, or to missing ones.
func sameRank(f *filter, r store.Rank) {
	if r.Known {
		f.add("s.x = ?", r.Value)
	} else {
		f.add("s.x IS NULL")
	}
}
