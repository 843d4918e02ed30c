// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	questions "github.com/kube-lifeline/lifeline/app/internal/question/sqlite"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

var (
	insertPhases = insertInto("phases", "", "lifecycle", "steps")
	insertIndex  = insertInto("span_index", " ON CONFLICT DO UPDATE SET start = min(start, excluded.start), "+
		"latest = max(latest, excluded.latest), longest = max(longest, excluded.longest)",
		"trace", "operation", "trace_start", "start", "latest", "longest")
)

// deriver writes the tables that are derived from the spans of traces.
type deriver struct {
	*database.Tx
	s *Store
	// operations and kinds are the numbers of those so far.
	operations map[operation]int64
	kinds      map[writeKind]*usedKind
}

func newDeriver(tx *database.Tx, s *Store) *deriver {
	return &deriver{tx, s, map[operation]int64{}, map[writeKind]*usedKind{}}
}

// lifecyclesOf returns the lifecycles of a finished trace.
func lifecyclesOf(t *span.Trace, asOf time.Time) []store.Lifecycle {
	out := store.LifecyclesOf(t, asOf)
	store.Finish(out)
	return out
}

// lifecycles writes the lifecycles of the trace.
func (r *rowsOfTrace) lifecycles(ctx context.Context, rows []store.Lifecycle) error {
	tables := lifecycles()
	found, args := rowsOf{insertion: tables.insert}, make([]any, 0, tables.insert.columns)
	phases := rowsOf{insertion: insertPhases}
	all := []*rowsOf{&found, &phases, &r.newObjects}
	for _, c := range tables.collections {
		all = append(all, &rowsOf{insertion: c.insert})
	}
	for i := range rows {
		l := &rows[i]
		of, err := r.ofLifecycle(ctx, l.Object)
		if err != nil {
			return err
		}
		r.s.lastLifecycle++
		id := r.s.lastLifecycle
		args = append(args[:0], id, r.num, of, l.Span[:])
		for i := range tables.columns {
			args = append(args, tables.columns[i].Stored(&l.Lifecycle))
		}
		if err := found.put(ctx, r.Tx, args...); err != nil {
			return err
		}
		for i, f := range tables.collections {
			switch v := l.Values[f.Name].(type) {
			case []string:
				for _, element := range v {
					all[3+i].addRow(id, element)
				}
			case map[string]string:
				for key, value := range v {
					all[3+i].addRow(id, key, value)
				}
			}
		}
		if steps := questions.EncodeSteps(l.Steps, nanos); steps != nil {
			phases.addRow(id, steps)
		}
	}
	return flushAll(ctx, r.Tx, all...)
}

// operation is the name of a span and its service.
type operation struct{ service, name string }

// indexed is the entry of an operation in the index of spans.
type indexed struct{ start, latest, longest int64 }

// index adds spans of a trace to the index. more means that it may have others.
func (d *deriver) index(ctx context.Context, num int64, spans []*span.Span, more bool) error {
	if len(spans) == 0 {
		return nil
	}
	entries := map[operation]indexed{}
	first := nanos(spans[0].Start.Time)
	for _, s := range spans {
		start, length := nanos(s.Start.Time), int64(0)
		if !s.Open() {
			length = max(0, int64(s.End.Sub(s.Start.Time)))
		}
		first = min(first, start)
		key := operation{text(s.Service), text(s.Name)}
		e, there := entries[key]
		if !there {
			entries[key] = indexed{start, start, length}
			continue
		}
		entries[key] = indexed{min(e.start, start), max(e.latest, start), max(e.longest, length)}
	}
	if more {
		if err := d.spread(ctx, num, &first); err != nil {
			return err
		}
	}
	added := rowsOf{insertion: insertIndex}
	for of, e := range entries {
		op, err := d.operation(ctx, of)
		if err != nil {
			return err
		}
		added.addRow(num, op, first, e.start, e.latest, e.longest)
	}
	return added.flush(ctx, d.Tx)
}

// spread sets first to the start of the first span of a trace, if that is earlier; or else the entries
// of the trace to first.
func (d *deriver) spread(ctx context.Context, num int64, first *int64) error {
	if err := database.Scan(
		ctx, d, "SELECT min(trace_start, ?1) FROM span_index WHERE trace = ?2 LIMIT 1",
		[]any{*first, num}, []any{first}, nothing,
	); err != nil {
		return err
	}
	return d.Exec(ctx, "UPDATE span_index SET trace_start = ?1 WHERE trace = ?2 AND trace_start > ?1", *first, num)
}

// operation returns the number of an operation.
func (d *deriver) operation(ctx context.Context, of operation) (int64, error) {
	if num, known := d.operations[of]; known {
		return num, nil
	}
	if err := d.Exec(
		ctx, "INSERT INTO operations (service, name) VALUES (?, ?) ON CONFLICT DO NOTHING", of.service, of.name,
	); err != nil {
		return 0, err
	}
	var num int64
	err := database.Scan(
		ctx, d, "SELECT num FROM operations WHERE service = ? AND name = ?", []any{of.service, of.name},
		[]any{&num}, nothing,
	)
	d.operations[of] = num
	return num, err
}

// replace writes the derived tables of a trace again.
func (r *rowsOfTrace) replace(ctx context.Context, spans []*span.Span, rows []store.Lifecycle) error {
	for _, query := range append([]string{"DELETE FROM span_index WHERE trace = ?"}, lifecycles().remove...) {
		if err := r.Exec(ctx, query, r.num); err != nil {
			return err
		}
	}
	if err := r.index(ctx, r.num, spans, false); err != nil {
		return err
	}
	return r.lifecycles(ctx, rows)
}
