// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/insight/sample"
	"github.com/kube-lifeline/lifeline/app/internal/question"
	questions "github.com/kube-lifeline/lifeline/app/internal/question/sqlite"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

const (
	// samplesAtOnce is the number of lifecycles in one query for samples.
	samplesAtOnce = 5000
	// sparse is how many rows of a list a query may skip for each lifecycle.
	sparse = 4
)

// sampleTables are the fields that samples need.
type sampleTables struct {
	fields []question.Field
	lists  []collection
	// query selects the fields of the lifecycles l, after their numbers.
	query string
}

// samples returns the tables.
var samples = sync.OnceValue(func() *sampleTables {
	needed := append([]string{"start", "duration", "outcome", "was"}, store.SampleFields()...)
	out := &sampleTables{}
	selected := []string{"l.id"}
	for _, f := range question.Fields() {
		if !slices.Contains(needed, f.Name) && !strings.HasPrefix(f.Name, "phase.") {
			continue
		}
		if f.Type == question.List {
			out.lists = append(out.lists, collection{Field: f})
			continue
		}
		out.fields, selected = append(out.fields, f), append(selected, questions.Dialect{}.Field(&f))
	}
	out.query = "SELECT " + strings.Join(selected, ", ") + " FROM lifecycles AS l"
	return out
})

// Samples implements store.Learner.
func (s *Store) Samples(ctx context.Context, q store.FindQuery) iter.Seq2[sample.Lifecycle, error] {
	return func(yield func(sample.Lifecycle, error) bool) {
		ids, err := s.sampleIDs(ctx, &q)
		for some := range slices.Chunk(ids, samplesAtOnce) {
			var all []*found
			if all, err = s.someSamples(ctx, some); err != nil {
				break
			}
			for _, l := range all {
				if one, is := store.SampleOf(&l.Lifecycle); is && !yield(one, nil) {
					return
				}
			}
		}
		if err != nil {
			yield(sample.Lifecycle{}, s.db.Failed(ctx, "learn from", asDamage(err)))
		}
	}
}

// sampleIDs returns the numbers of the newest matching lifecycles, in order.
func (s *Store) sampleIDs(ctx context.Context, q *store.FindQuery) (ids []int64, err error) {
	limit := store.MaxSamples
	if q.Limit > 0 {
		limit = min(limit, q.Limit)
	}
	f := lifecycleFilter(q)
	anyOf(f, "l.outcome", []span.Outcome{span.Converged, span.Deleted})
	var list string // as in lifecycleRows, the costly part gives one row
	err = s.ask(ctx, func(ctx context.Context, from database.Querier) error {
		return database.Scan(
			ctx, from, "SELECT json_group_array(n) FROM (SELECT l.id AS n FROM "+questions.From(f.String())+f.String()+
				" ORDER BY l.start DESC LIMIT ?)", append(f.args, limit), []any{&list}, nothing,
		)
	})
	if err != nil || list == "" {
		return nil, err
	}
	err = json.Unmarshal([]byte(list), &ids)
	slices.Sort(ids)
	return ids, err
}

// someSamples reads lifecycles, with the fields of samples. The numbers are in order.
func (s *Store) someSamples(ctx context.Context, ids []int64) (out []*found, err error) {
	tables := samples()
	f := &filter{}
	if first, last := ids[0], ids[len(ids)-1]; last-first < int64(sparse*len(ids)) {
		f.add("BETWEEN ? AND ?", first, last)
	} else {
		list, err := json.Marshal(ids)
		if err != nil {
			return nil, err
		}
		f.add("IN (SELECT value FROM json_each(?))", string(list))
	}
	byID := make(map[int64]*found, len(ids))
	for _, id := range ids {
		byID[id] = nil
	}
	err = s.db.Read(ctx, func(from database.Querier) error {
		var id int64
		values := make([]any, len(tables.fields))
		to := []any{&id}
		for i := range values {
			to = append(to, &values[i])
		}
		if err := database.Scan(
			ctx, from, tables.query+" WHERE l.id "+f.all()+" ORDER BY l.id", f.args, to,
			func() error {
				if _, is := byID[id]; !is {
					return nil
				}
				l := &found{id: id}
				for i := range tables.fields {
					tables.fields[i].Set(&l.Lifecycle.Lifecycle, values[i])
				}
				byID[id], out = l, append(out, l)
				return nil
			},
		); err != nil {
			return err
		}
		for _, c := range tables.lists {
			if err := c.readSome(ctx, from, f, byID); err != nil {
				return err
			}
		}
		return context.Cause(ctx)
	})
	return out, err
}

// readSome reads a list of lifecycles whose numbers f selects.
func (c *collection) readSome(ctx context.Context, from database.Querier, f *filter, byID map[int64]*found) error {
	var id int64
	var element string
	return database.Scan(
		ctx, from, "SELECT lifecycle, "+c.Column+" FROM "+c.Table+" WHERE lifecycle "+f.all()+" ORDER BY lifecycle, "+
			c.Column, f.args, []any{&id, &element},
		func() error {
			if l := byID[id]; l != nil {
				list, _ := l.Values[c.Name].([]string)
				c.Set(&l.Lifecycle.Lifecycle, append(list, element))
			}
			return nil
		},
	)
}
