// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"encoding/json"
	"iter"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/insight/sample"
	"github.com/kube-lifeline/lifeline/app/internal/question"
	questions "github.com/kube-lifeline/lifeline/app/internal/question/sqlite"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

const (
	// samplesAtOnce is the number of lifecycles in one query for samples.
	samplesAtOnce = 20_000
	// sparse is how many rows of a list a query may skip for each lifecycle.
	sparse = 4
)

// sampleTables are the fields that samples need.
type sampleTables struct {
	// fields have a column in the table lifecycles. at has their places, and those of the lists behind them.
	fields, lists []question.Field
	at            map[string]int
	// phases are the names of the fields that are phases, and "" for the others.
	phases []string
	// columns are the SQL of the fields, and names those of the columns of a subquery.
	columns, names string
}

// samples returns the tables.
var samples = sync.OnceValue(func() *sampleTables {
	needed := append([]string{"outcome", "was"}, store.SampleFields()...)
	out := &sampleTables{at: map[string]int{}}
	var columns, names []string
	for _, f := range question.Fields() {
		phase, isPhase := strings.CutPrefix(f.Name, "phase.")
		switch {
		case !slices.Contains(needed, f.Name) && !isPhase:
		case f.Type == question.List:
			out.lists = append(out.lists, f)
		default:
			if !isPhase {
				phase = ""
			}
			out.at[f.Name] = len(out.fields)
			out.fields, out.phases = append(out.fields, f), append(out.phases, phase)
			columns, names = append(columns, questions.Dialect{}.Field(&f)), append(names, f.Column)
		}
	}
	for i, f := range out.lists {
		out.at[f.Name] = len(out.fields) + i
	}
	out.columns, out.names = strings.Join(columns, ", "), strings.Join(names, ", ")
	return out
})

// well are the outcomes of samples. Later claims may have changed them.
var well = [...]any{string(span.Converged), string(span.Deleted)}

// sampleRow is a lifecycle for a sample: its fields and its lists, in the order of sampleTables.at.
type sampleRow struct {
	id, start, length int64
	phases            map[string]time.Duration
	values            []any
}

// sample returns the sample of the lifecycle.
func (r *sampleRow) sample() (sample.Lifecycle, bool) {
	at := samples().at
	return store.NewSample(moment(r.start), time.Duration(r.length), r.phases, func(field string) any {
		if i, is := at[field]; is {
			return r.values[i]
		}
		return nil
	})
}

// Samples implements store.Learner.
func (l *learner) Samples(ctx context.Context, q store.FindQuery) iter.Seq2[sample.Lifecycle, error] {
	return func(yield func(sample.Lifecycle, error) bool) {
		left := store.MaxSamples
		if q.Limit > 0 {
			left = min(left, q.Limit)
		}
		start, id := int64(math.MaxInt64), int64(math.MaxInt64) // of the last row
		texts := map[string]string{}
		for left > 0 {
			n := min(left, samplesAtOnce)
			rows, err := l.sampleRows(ctx, &q, start, id, n, texts)
			if err != nil {
				yield(sample.Lifecycle{}, l.db.Failed(ctx, "learn from", asDamage(err)))
				return
			}
			for i := range rows {
				if one, is := rows[i].sample(); is && !yield(one, nil) {
					return
				}
			}
			if len(rows) < n {
				return
			}
			left -= n
			last := &rows[len(rows)-1]
			start, id = last.start, last.id
		}
	}
}

// sampleRows returns at most limit of the newest matching lifecycles behind a place.
func (l *learner) sampleRows(
	ctx context.Context, q *store.FindQuery, start, id int64, limit int, texts map[string]string,
) ([]sampleRow, error) {
	into := &collecting{texts: texts}
	handle := collectings.begin(into)
	defer collectings.end(handle)
	tables := samples()
	f := &filter{args: []any{handle}}
	addLifecycles(f, q)
	f.add("l.start <= ?", start) // what an index can use
	f.add("(l.start < ? OR l.id < ?)", start, id)
	f.add("(l.outcome IN (?, ?) OR l.was IN (?, ?))", well[0], well[1], well[0], well[1])
	// As in lifecycleRows, the costly part gives one row.
	query := "SELECT " + collect + "(?1, id, start, duration, " + tables.names + ") FROM (" +
		"SELECT l.id, l.start, l.duration, " + tables.columns + " FROM " + questions.From(f.String()) + f.String() +
		" ORDER BY l.start DESC, l.id DESC LIMIT ?)"
	err := l.ask(ctx, func(ctx context.Context, from database.Querier) error {
		var n int64
		if err := database.Scan(ctx, from, query, append(f.args, limit), []any{&n}, nothing); err != nil {
			return err
		}
		return into.lists(ctx, from)
	})
	return into.rows, err
}

// lists reads the lists of the lifecycles.
func (c *collecting) lists(ctx context.Context, from database.Querier) error {
	if len(c.rows) == 0 {
		return nil
	}
	ids := make([]int64, len(c.rows))
	byID := make(map[int64]*sampleRow, len(c.rows))
	for i := range c.rows {
		ids[i] = c.rows[i].id
		byID[ids[i]] = &c.rows[i]
	}
	slices.Sort(ids)
	f := &filter{}
	if first, last := ids[0], ids[len(ids)-1]; last-first < int64(sparse*len(ids)) {
		f.add("lifecycle BETWEEN ? AND ?", first, last)
	} else {
		list, err := json.Marshal(ids)
		if err != nil {
			return err
		}
		f.add("lifecycle IN (SELECT value FROM json_each(?))", string(list))
	}
	tables := samples()
	for i, of := range tables.lists {
		more := &collecting{texts: c.texts, elements: byID, at: len(tables.fields) + i}
		handle := collectings.begin(more)
		var n int64
		err := database.Scan(
			ctx, from, "SELECT "+collect+"(?, lifecycle, "+of.Column+") FROM "+of.Table+f.String(),
			append([]any{handle}, f.args...), []any{&n}, nothing,
		)
		collectings.end(handle)
		if err != nil {
			return err
		}
	}
	return nil
}
