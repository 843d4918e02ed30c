// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// PutLifecycles stores traces without their spans, for questions about very many lifecycles.
func (s *Store) PutLifecycles(ctx context.Context, traces iter.Seq[*span.Trace]) error {
	return s.db.Write(ctx, func(steady context.Context, tx *database.Tx) error {
		d := newDeriver(tx, s)
		for t := range traces {
			s.last++
			if err := d.Exec(
				steady,
				"INSERT INTO traces (num, id, phase, revision, as_of, start) VALUES (?, ?, 2, 1, 0, ?)",
				s.last,
				t.ID[:],
				nanos(store.Start(t)),
			); err != nil {
				return err
			}
			rows, all := newRows(d, s.last), lifecyclesOf(t, time.Time{})
			if err := rows.lifecycles(steady, all); err != nil {
				return err
			}
			if err := d.rollups(steady, t, all); err != nil {
				return err
			}
		}
		return nil
	})
}

// PutWrites stores n traces with an object and a write each, the last ones in the namespace "last".
func (s *Store) PutWrites(ctx context.Context, n int) error {
	return s.db.Write(ctx, func(steady context.Context, tx *database.Tx) error {
		const numbers = " FROM (WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ?1) " +
			"SELECT n FROM c)"
		if err := tx.Exec(
			steady, "INSERT INTO write_kinds VALUES (1, '', 'desired', '', 'x', '', '', ?)", n,
		); err != nil {
			return err
		}
		for _, into := range []string{
			"INSERT INTO traces (num, id, phase, revision, as_of, start) " +
				"SELECT n, unhex(printf('%032x', n)), 2, 1, 0, n",
			"INSERT INTO objects SELECT n, 0, '', 'v1', 'Pod', iif(n + 9 > ?1, 'last', 'default'), 'x', ''",
			"INSERT INTO writes (trace, num, span, number, object, kind, rv, generation, until, more_changes) " +
				"SELECT n, 0, unhex(printf('%016x', n)), 0, 0, 1, 0, 0, n, 0",
		} {
			if err := tx.Exec(steady, into+numbers, n); err != nil {
				return err
			}
		}
		s.last = int64(n)
		return nil
	})
}

// DamageRollup changes the data of a rollup.
func (s *Store) DamageRollup(ctx context.Context, id int64) error {
	return s.db.Write(ctx, func(steady context.Context, tx *database.Tx) error {
		return tx.Exec(steady, "UPDATE rollups SET data = x'01ff00' WHERE id = ?", id)
	})
}

// RollupBytes returns the size of the rollups with their indexes.
func (s *Store) RollupBytes(ctx context.Context) (int64, error) {
	return s.db.Number(ctx, "SELECT sum(length(data)) + count(*) * "+strconv.Itoa(rollupOverhead)+" FROM rollups")
}

// Unroll removes all rollups, as before the migration that made their table.
func (s *Store) Unroll(ctx context.Context) error {
	return s.db.Write(ctx, func(steady context.Context, tx *database.Tx) error {
		if err := tx.Exec(steady, "DELETE FROM rollups"); err != nil {
			return err
		}
		return tx.Exec(steady, "INSERT INTO meta (name, value) SELECT 'unrolled', max(num) FROM traces")
	})
}

// LimitQuestions changes the longest time of a question.
func (s *Store) LimitQuestions(d time.Duration) { s.questions.Time = d }

// Occupy takes n places of costly questions until release.
func (s *Store) Occupy(n int) (release func()) {
	for range n {
		s.questions.Places <- struct{}{}
	}
	return func() {
		for range n {
			<-s.questions.Places
		}
	}
}

// Rows counts the rows of the derived tables.
func (s *Store) Rows(ctx context.Context) (map[string]int64, error) {
	out := map[string]int64{}
	for _, table := range []string{
		"lifecycles", "lifecycle_images", "lifecycle_labels", "phases", "operations", "span_index", "writes",
		"write_kinds",
	} {
		n, err := s.db.Number(ctx, "SELECT count(*) FROM "+table)
		if err != nil {
			return nil, err
		}
		out[table] = n
	}
	return out, nil
}

// Plan returns the plan of Find.
func (s *Store) Plan(ctx context.Context, q store.FindQuery) ([]string, error) {
	f := lifecycleFilter(&q)
	return plan(ctx, s, lifecycles().query+f.String()+newestFirst+" LIMIT 101", f.args)
}

// ScopePlans returns the plans of statements within a scope, by their names.
func (s *Store) ScopePlans(ctx context.Context, scope store.Scope) (map[string]string, error) {
	newest, args, err := newestTraces(store.Query{Scope: scope}, 101)
	if err != nil {
		return nil, err
	}
	exists := &filter{}
	exists.add("id = ?", make([]byte, 16))
	exists.touching(scope, "traces")
	shared, ofShared := selectShared(&store.SharedQuery{Scope: scope, Since: earliest, Until: latest})
	out := map[string]string{}
	for name, of := range map[string]struct {
		query string
		f     *filter
	}{
		"list":   {newest, &filter{args: args}},
		"exists": {"SELECT id FROM traces" + exists.String(), exists},
		"shared": {shared, &filter{args: ofShared}},
	} {
		steps, err := plan(ctx, s, of.query, of.f.args)
		if err != nil {
			return nil, err
		}
		out[name] = strings.Join(steps, "; ")
	}
	return out, nil
}

func plan(ctx context.Context, s *Store, query string, args []any) (out []string, err error) {
	var id, parent, unused int
	var detail string
	err = s.db.Read(ctx, func(q database.Querier) error {
		return database.Scan(
			ctx,
			q,
			"EXPLAIN QUERY PLAN "+query,
			args,
			[]any{&id, &parent, &unused, &detail},
			func() error {
				out = append(out, detail)
				return nil
			},
		)
	})
	return out, err
}
