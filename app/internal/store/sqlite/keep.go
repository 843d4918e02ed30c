// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"fmt"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Pin exempts a trace from Prune, or ends the exemption.
func (s *Store) Pin(ctx context.Context, id trace.TraceID, on bool) error {
	err := s.db.Write(ctx, func(steady context.Context, w *database.Tx) error {
		num := int64(-1)
		if err := database.Scan(
			steady, w, "SELECT num FROM traces WHERE id = ? AND phase > 0", []any{id[:]}, []any{&num}, nothing,
		); err != nil {
			return err
		}
		if num < 0 {
			return store.ErrNotFound
		}
		return w.Exec(steady, "UPDATE traces SET pinned = ? WHERE num = ?", on, num)
	})
	if err != nil {
		return s.db.Failed(ctx, fmt.Sprintf("pin trace %s in", id), err)
	}
	return nil
}

// Forget removes everything about the selected objects, and rebuilds the file: where SQLite has divided
// a page, its unused space may hold copies of rows that are deleted later. That needs free space for
// two further copies of the archive, and writes wait for it. The log is emptied. The file system keeps
// the blocks of a shortened file until it needs them. Backups stay.
func (s *Store) Forget(ctx context.Context, which store.Selector) (store.Forgotten, error) {
	var out store.Forgotten
	err := which.Validate()
	if err == nil {
		err = s.forget(ctx, which, &out)
	}
	if err == nil {
		err = s.learned.forget(ctx, which, &out)
	}
	if err == nil {
		err = s.tidy(ctx, true)
	}
	if err == nil {
		err = s.clean(ctx)
	}
	if err == nil {
		err = s.db.Purge(ctx)
	}
	if err != nil {
		return out, s.db.Failed(ctx, fmt.Sprintf("remove namespace %q from", which.Namespace), err)
	}
	return out, nil
}

// clean rebuilds a file with copies of deleted data.
func (s *Store) clean(ctx context.Context) error {
	unclean, err := s.db.Number(ctx, "SELECT count(*) FROM meta WHERE name = '"+metaUnclean+"'")
	if err != nil || unclean == 0 {
		return err
	}
	if err := s.db.Rebuild(ctx); err != nil {
		return fmt.Errorf("the traces are removed, but the file may have copies of their data in unused space: %w", err)
	}
	return s.db.Write(ctx, func(steady context.Context, w *database.Tx) error {
		return w.Exec(steady, "DELETE FROM meta WHERE name = ?", metaUnclean)
	})
}

func (s *Store) forget(ctx context.Context, which store.Selector, out *store.Forgotten) error {
	for { // traces may come meanwhile
		nums, err := s.selected(ctx, which)
		if err != nil || len(nums) == 0 {
			return err
		}
		f := &forgetting{s: s, namespace: which.Namespace, gone: map[int64]bool{}, out: out}
		for _, num := range nums {
			f.gone[num] = true
		}
		for part := range slices.Chunk(nums, pruneAtOnce) {
			if err := f.remove(ctx, part); err != nil {
				return err
			}
		}
	}
}

// selected returns the numbers of the traces with a selected object.
func (s *Store) selected(ctx context.Context, which store.Selector) ([]int64, error) {
	var out []int64
	var num int64
	err := s.db.Read(ctx, func(q database.Querier) error {
		return database.Scan(ctx, q, `SELECT DISTINCT trace FROM objects
			WHERE namespace = ?1 OR kind = 'Namespace' AND api_group = '' AND name = ?1 ORDER BY trace`,
			[]any{which.Namespace}, []any{&num}, func() error { out = append(out, num); return nil })
	})
	return out, err
}

// forgetting is a Forget that runs.
type forgetting struct {
	s         *Store
	namespace string
	// gone are the traces that will be removed.
	gone map[int64]bool
	out  *store.Forgotten
}

// remove deletes traces, and the edges of other traces to them.
func (f *forgetting) remove(ctx context.Context, nums []int64) error {
	var n store.Forgotten
	err := f.s.db.Write(ctx, func(steady context.Context, w *database.Tx) error {
		n = store.Forgotten{}
		if err := overwrite(steady, w); err != nil {
			return err
		}
		for _, num := range nums {
			if err := w.Cancelled(); err != nil {
				return err
			}
			if err := f.one(steady, w, num, &n); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		f.out.Traces += n.Traces
		f.out.Shared += n.Shared
		f.out.Edges += n.Edges
	}
	return err
}

// overwrite begins a transaction whose deleted data must not stay in the file.
func overwrite(ctx context.Context, w *database.Tx) error {
	if err := w.Overwrite(ctx); err != nil {
		return err
	}
	return w.Exec(ctx, "INSERT INTO meta (name, value) VALUES (?, 1) ON CONFLICT DO NOTHING", metaUnclean)
}

func (f *forgetting) one(ctx context.Context, w *database.Tx, num int64, out *store.Forgotten) error {
	var id []byte
	var p phase
	var shared bool
	if err := database.Scan(ctx, w, `SELECT id, phase, EXISTS (SELECT 1 FROM objects o
			WHERE o.trace = traces.num AND o.namespace NOT IN ('', ?1))
		FROM traces WHERE num = ?2`, []any{f.namespace, num}, []any{&id, &p, &shared}, nothing); err != nil {
		return err
	}
	if p == finished {
		out.Traces++
		if shared {
			out.Shared++
		}
	}
	edges, err := f.cut(ctx, w, traceID(id))
	if err != nil {
		return err
	}
	out.Edges += edges
	if err := w.Exec(ctx, "DELETE FROM rollups WHERE "+ofTrace, id); err != nil {
		return err
	}
	return remove(ctx, w, num)
}

// cut removes the edges of remaining traces to the trace. It returns their number.
func (f *forgetting) cut(ctx context.Context, w *database.Tx, to trace.TraceID) (int64, error) {
	type edge struct {
		num  int64
		from trace.TraceID
		span trace.SpanID
	}
	var edges []edge
	var e edge
	var from, in []byte
	var removed int64
	if err := database.Scan(ctx, w, `SELECT t.num, t.id, l.span FROM links l JOIN traces t ON t.num = l.trace
			WHERE l.of_trace = ?`, []any{to[:]}, []any{&e.num, &from, &in}, func() error {
		if !f.gone[e.num] {
			e.from, e.span = traceID(from), spanID(in)
			edges = append(edges, e)
			removed++
		}
		return nil
	}); err != nil {
		return 0, err
	}
	for _, e := range slices.Compact(edges) {
		parts, err := readParts(ctx, w, e.num, e.from)
		if err != nil {
			return 0, err
		}
		if err := unlink(ctx, w, e.from, parts, e.span, to); err != nil {
			return 0, err
		}
		if err := w.Exec(ctx, "DELETE FROM links WHERE trace = ? AND span = ? AND of_trace = ?",
			e.num, e.span[:], to[:]); err != nil {
			return 0, err
		}
	}
	return removed, nil
}

// unlink removes the links of a stored span to a trace.
func unlink(
	ctx context.Context, w *database.Tx, id trace.TraceID, parts []part, from trace.SpanID, to trace.TraceID,
) error {
	for _, p := range parts {
		for _, s := range p.spans {
			if s.ID == from {
				s.Links = slices.DeleteFunc(s.Links, func(l span.Link) bool { return l.TraceID == to })
				return p.write(ctx, w, id)
			}
		}
	}
	return fmt.Errorf("%w: trace %s has a link of an absent span", store.ErrDamaged, id)
}
