// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"iter"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/insight/sample"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// schemaOfRollups creates the table of rollups. A rollup outlives its trace, and has the ID of that.
const schemaOfRollups = `
CREATE TABLE rollups (
  id         INTEGER PRIMARY KEY,
  trace      BLOB NOT NULL,
  start      INTEGER NOT NULL,
  api_group  TEXT NOT NULL,
  kind       TEXT NOT NULL,
  namespace  TEXT NOT NULL,
  name       TEXT NOT NULL,    -- empty for the objects of a workload
  workload   TEXT NOT NULL,
  verb       TEXT NOT NULL,
  heals      TEXT NOT NULL,
  root       TEXT,             -- the namespace of the change, if it is another one
  count      INTEGER NOT NULL,
  data       BLOB NOT NULL     -- see encodeRollup
) STRICT;
CREATE INDEX rollups_trace ON rollups (substr(trace, 1, 8));
CREATE INDEX rollups_start ON rollups (start);
INSERT INTO meta (name, value) SELECT 'unrolled', num FROM traces ORDER BY num DESC LIMIT 1;
`

// metaUnrolled is the key of the highest number of a trace from before the table of rollups that has none yet; absent
// without any.
const metaUnrolled = "unrolled"

var insertRollups = insertInto("rollups", "", "trace", "start", "api_group", "kind", "namespace", "name",
	"workload", "verb", "heals", "root", "count", "data")

// ofTrace selects the rollups of one trace by its ID.
const ofTrace = "substr(trace, 1, 8) = substr(?1, 1, 8) AND trace = ?1"

// rollups writes the rollups of a trace in place of earlier ones.
func (d *deriver) rollups(ctx context.Context, t *span.Trace, lifecycles []store.Lifecycle) error {
	if err := d.Exec(ctx, "DELETE FROM rollups WHERE "+ofTrace, t.ID[:]); err != nil {
		return err
	}
	return d.addRollups(ctx, store.RollupsIn(t, lifecycles))
}

// addRollups writes the rollups of one trace.
func (d *deriver) addRollups(ctx context.Context, all []store.Rollup) error {
	rows := rowsOf{insertion: insertRollups}
	for i := range all {
		r := &all[i]
		heals, root := "", any(nil)
		if r.Heals {
			heals = r.Healed.Kind.Kind + " " + r.Healed.Name
		}
		if other := namespaceOf(r.Root); other != r.Namespace {
			root = text(other)
		}
		if err := rows.put(
			ctx, d.Tx, r.Trace[:], nanos(r.Start), text(r.Object.Group), text(r.Kind), text(r.Namespace),
			text(r.Object.Name), text(r.Workload), text(r.Verb), text(heals), root, r.Count, encodeRollup(r),
		); err != nil {
			return err
		}
	}
	return rows.flush(ctx, d.Tx)
}

// foreignRollups writes the rollups of traces that have none.
func (d *deriver) foreignRollups(ctx context.Context, all []store.Rollup) error {
	for len(all) > 0 {
		id := all[0].Trace
		n := 1
		for n < len(all) && all[n].Trace == id {
			n++
		}
		known := false
		if err := database.Scan(
			ctx, d, "SELECT 1 FROM rollups WHERE "+ofTrace+" LIMIT 1", []any{id[:]}, []any{&known}, nothing,
		); err != nil {
			return err
		}
		if !known {
			if err := d.addRollups(ctx, all[:n]); err != nil {
				return err
			}
		}
		all = all[n:]
	}
	return nil
}

// namespaceOf returns the namespace of an object. A Namespace is one of its own objects.
func namespaceOf(o object.Ref) string {
	if kind.Namespace.Is(o.Kind) {
		return o.Name
	}
	return o.Namespace
}

// rollupsAtOnce is the number of rollups in one query: no caller holds a snapshot for long.
const rollupsAtOnce = 2000

// rollupPlace is a place in the order of rollups.
type rollupPlace struct{ start, id int64 }

// learner has the rollups of an archive, and its samples.
type learner struct {
	db *database.DB
	// ask answers a costly question.
	ask func(context.Context, func(context.Context, database.Querier) error) error
}

var _ store.Learner = (*learner)(nil)

// Rollups implements store.Learner.
func (l *learner) Rollups(ctx context.Context, q store.RollupQuery) iter.Seq2[sample.Rollup, error] {
	return func(yield func(sample.Rollup, error) bool) {
		err := q.Validate()
		known := map[string]string{}
		after := &rollupPlace{start: nanos(earliest)}
		if !q.Since.IsZero() {
			after.start = nanos(q.Since)
		}
		for err == nil && after != nil {
			var some []sample.Rollup
			if some, after, err = l.someRollups(ctx, &q, *after, known); err != nil {
				break
			}
			for i := range some {
				if !yield(some[i], nil) {
					return
				}
			}
			err = context.Cause(ctx)
		}
		if err != nil {
			yield(sample.Rollup{}, l.db.Failed(ctx, "learn from", asDamage(err)))
		}
	}
}

// someRollups returns matching rollups behind a place, and the place of the last one that it has read; nil at the end.
func (l *learner) someRollups(
	ctx context.Context, q *store.RollupQuery, after rollupPlace, known map[string]string,
) (out []sample.Rollup, next *rollupPlace, err error) {
	f := &filter{}
	f.add("(start, id) > (?, ?)", after.start, after.id)
	if !q.Until.IsZero() {
		f.add("start < ?", nanos(q.Until))
	}
	if q.Scope.Clusters != nil { // the file does not have its cluster
		f.add("0")
	}
	read := 0
	err = l.db.Read(ctx, func(from database.Querier) error {
		f.args = append(f.args, rollupsAtOnce)
		query := selectRollups + "INDEXED BY rollups_start" + f.String() + " ORDER BY start, id LIMIT ?"
		return scanRollups(ctx, from, query, f.args, known, func(at rollupPlace, r *store.Rollup) error {
			read++
			next = &at
			if permitted, is := r.In(q.Scope); is && q.Fits(r, &permitted) {
				out = append(out, permitted)
			}
			return nil
		})
	})
	if read < rollupsAtOnce {
		next = nil
	}
	return out, next, err
}

// selectRollups selects the columns of scanRollups.
const selectRollups = "SELECT id, trace, start, api_group, kind, namespace, name, workload, verb, count, data " +
	"FROM rollups "

// scanRollups calls each with the rollups that a query selects.
func scanRollups(
	ctx context.Context, from database.Querier, query string, args []any, known map[string]string,
	each func(rollupPlace, *store.Rollup) error,
) error {
	var id, data []byte
	var at rollupPlace
	var one store.Rollup
	var group, name string
	return database.Scan(
		ctx, from, query, args,
		[]any{
			&at.id, &id, &at.start, &group, &one.Kind, &one.Namespace, &name, &one.Workload, &one.Verb, &one.Count,
			&data,
		},
		func() error {
			r := one
			r.Trace, r.Start = traceID(id), moment(at.start)
			r.Object = object.Ref{
				Kind: object.Kind{Group: group, Kind: one.Kind}, Namespace: one.Namespace, Name: name,
			}
			if err := decodeRollup(data, &r, known); err != nil {
				return err
			}
			return each(at, &r)
		},
	)
}
