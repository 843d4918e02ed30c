// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"errors"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

const (
	// rollupsDropped bounds the rollups that one transaction removes.
	rollupsDropped = 5000
	// rollupShare is the part of store.Limits.Bytes for rollups: one of that many.
	rollupShare = 4
	// rollupOverhead is the size of a rollup's columns and index entries, in bytes, without its data.
	rollupOverhead = 150
	// rolledAtOnce bounds the traces of earlier versions that get rollups in one Prune.
	rolledAtOnce = 1000
)

// prune removes rollups until the limits hold, the oldest first. The size is an estimate from the newest ones.
func (l *learner) prune(ctx context.Context, limits store.Limits, out *store.Pruned) error {
	if !limits.Rollups.IsZero() {
		f := &filter{}
		f.add("start <= ?", nanos(limits.Rollups))
		for {
			n, err := l.drop(ctx, f, rollupsDropped)
			out.Rollups += n
			if err != nil {
				return err
			}
			if n < rollupsDropped {
				break
			}
		}
	}
	surplus, err := l.surplus(ctx, limits.Bytes)
	for err == nil && surplus > 0 {
		var n int64
		if n, err = l.drop(ctx, &filter{}, min(surplus, rollupsDropped)); n == 0 {
			break
		}
		out.Rollups += n
		surplus -= n
	}
	return err
}

// surplus returns how many rollups are too many.
func (l *learner) surplus(ctx context.Context, bytes int64) (int64, error) {
	rows, err := l.db.Number(ctx, "SELECT count(*) FROM rollups INDEXED BY rollups_start")
	if err != nil || rows == 0 {
		return 0, err
	}
	surplus := rows - store.MaxStoredRollups
	if bytes > 0 {
		size, err := l.db.Number(ctx, "SELECT cast(avg(length(data)) AS INTEGER) FROM "+
			"(SELECT data FROM rollups ORDER BY id DESC LIMIT 1000)")
		if err != nil {
			return 0, err
		}
		surplus = max(surplus, rows-bytes/rollupShare/(size+rollupOverhead))
	}
	return max(0, surplus), nil
}

// drop removes the oldest among some rollups, at most limit. It returns their number.
func (l *learner) drop(ctx context.Context, which *filter, limit int64) (int64, error) {
	var n int64
	err := l.db.Write(ctx, func(steady context.Context, w *database.Tx) error {
		n = 0
		var id int64
		var ids []int64
		if err := database.Scan(
			steady, w, "SELECT id FROM rollups INDEXED BY rollups_start"+which.String()+
				" ORDER BY start, id LIMIT ?", append(slices.Clone(which.args), limit), []any{&id},
			func() error { ids = append(ids, id); return nil },
		); err != nil {
			return err
		}
		for _, id := range ids {
			if err := w.Exec(steady, "DELETE FROM rollups WHERE id = ?", id); err != nil {
				return err
			}
		}
		n = int64(len(ids))
		return nil
	})
	return n, err
}

// forget removes the rollups of earlier traces with a selected object.
func (l *learner) forget(ctx context.Context, which store.Selector, out *store.Forgotten) error {
	const of = " FROM rollups WHERE trace IN (SELECT trace FROM rollups WHERE namespace = ?1 OR root = ?1 " +
		"OR kind = 'Namespace' AND api_group = '' AND name = ?1)"
	return l.db.Write(ctx, func(steady context.Context, w *database.Tx) error {
		var n int64
		if err := database.Scan(
			steady, w, "SELECT count(*)"+of, []any{which.Namespace}, []any{&n}, nothing,
		); err != nil || n == 0 {
			return err
		}
		if err := overwrite(steady, w); err != nil {
			return err
		}
		out.Rollups += n
		return w.Exec(steady, "DELETE"+of, which.Namespace)
	})
}

// rollEarlier makes the rollups of some traces that an earlier version has stored, the newest first.
func (l *learner) rollEarlier(ctx context.Context) error {
	last := int64(-1)
	err := l.db.Read(ctx, func(from database.Querier) error {
		return database.Scan(
			ctx, from, "SELECT value FROM meta WHERE name = ?", []any{metaUnrolled}, []any{&last}, nothing,
		)
	})
	for rolled := 0; err == nil && last >= 0 && rolled < rolledAtOnce; rolled += pruneAtOnce {
		err = l.db.Write(ctx, func(steady context.Context, w *database.Tx) error {
			last, err = rollSome(steady, &deriver{Tx: w}, last)
			return err
		})
	}
	return err
}

// rollSome makes the rollups of the traces up to a number, and returns the next number; -1 after the last one. A
// damaged trace has none.
func rollSome(ctx context.Context, d *deriver, last int64) (int64, error) {
	var heads []earlierHead
	var h earlierHead
	var id []byte
	var spans int64
	if err := database.Scan(
		ctx, d, "SELECT num, id, as_of, spans FROM traces WHERE num <= ? AND phase = ? ORDER BY num DESC LIMIT ?",
		[]any{last, finished, pruneAtOnce}, []any{&h.num, &id, &h.asOf, &h.spans},
		func() error {
			if h.id = traceID(id); spans < spansAtOnce {
				heads = append(heads, h)
			}
			spans += h.spans
			return nil
		},
	); err != nil {
		return last, err
	}
	for _, h := range heads {
		parts, err := readParts(ctx, d, h.num, h.id)
		if errors.Is(err, store.ErrDamaged) {
			continue
		}
		if err != nil {
			return last, err
		}
		t := &span.Trace{ID: h.id, Spans: claimed(parts)}
		if err := d.rollups(ctx, t, lifecyclesOf(t, moment(h.asOf))); err != nil {
			return last, err
		}
	}
	if len(heads) == 0 {
		return -1, d.Exec(ctx, "DELETE FROM meta WHERE name = ?", metaUnrolled)
	}
	last = heads[len(heads)-1].num - 1
	return last, d.Exec(ctx, "UPDATE meta SET value = ? WHERE name = ?", last, metaUnrolled)
}

// earlierHead is the row of a trace of an earlier version.
type earlierHead struct {
	num, asOf, spans int64
	id               trace.TraceID
}

// claimed returns the spans of parts without amendments other than claims.
func claimed(parts []part) (out []*span.Span) {
	for _, p := range parts {
		for _, s := range p.spans {
			if !p.amends || s.IsClaim() {
				out = append(out, s)
			}
		}
	}
	return out
}
