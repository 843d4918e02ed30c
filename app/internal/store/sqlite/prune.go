// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

const (
	// pruneAtOnce bounds the traces in one transaction, and spansAtOnce their spans, so that
	// writers wait only briefly.
	pruneAtOnce, spansAtOnce = 100, 10_000
	// pagesAtOnce bounds the pages that one transaction frees.
	pagesAtOnce = 1000
	// lateness is the time for which the record of a withdrawn trace is kept, against an older
	// version of it.
	lateness = time.Hour
)

// Prune removes finished traces until the limits hold.
func (s *Store) Prune(ctx context.Context, l store.Limits) (store.Pruned, error) {
	var out store.Pruned
	if err := s.Check(ctx); err != nil {
		return out, err
	}
	before, err := s.used(ctx)
	if err == nil {
		err = s.prune(ctx, l, &out)
	}
	after, sized := s.used(context.WithoutCancel(ctx))
	if sized == nil {
		out.Bytes = max(0, before-after)
	}
	if err != nil {
		return out, failed(ctx, "remove old traces from store", s.path, err)
	}
	return out, nil
}

func (s *Store) prune(ctx context.Context, l store.Limits, out *store.Pruned) error {
	steps := []func() (int64, error){
		func() (int64, error) {
			return s.drop(
				ctx,
				pruneAtOnce,
				"phase = 0 AND as_of < (SELECT value FROM meta WHERE name = ?) - ?",
				metaAsOf,
				int64(lateness),
			)
		},
		func() (int64, error) {
			if l.Before.IsZero() {
				return 0, nil
			}
			n, err := s.drop(ctx, pruneAtOnce, "phase = 2 AND start + duration <= ?", nanos(l.Before))
			out.Traces += n
			return n, err
		},
		func() (int64, error) {
			n, err := s.shrink(ctx, l.Bytes)
			out.Traces += n
			return n, err
		},
	}
	for _, step := range steps {
		for n := int64(1); n > 0; {
			var err error
			if n, err = step(); err != nil {
				return err
			}
		}
	}
	return s.giveBack(ctx)
}

// shrink removes about the number of excess traces, and at least one, if all data take more than
// limit.
func (s *Store) shrink(ctx context.Context, limit int64) (int64, error) {
	used, err := s.used(ctx)
	if err != nil || limit <= 0 || used <= limit {
		return 0, err
	}
	var traces int64
	if err := s.snapshot(ctx, func(q querier) error {
		return scan(
			ctx,
			q,
			"SELECT count(*) FROM traces WHERE phase = 2",
			nil,
			[]any{&traces},
			func() error { return nil },
		)
	}); err != nil || traces == 0 {
		return 0, err
	}
	surplus := (used - limit) * traces / used
	return s.drop(ctx, min(max(surplus, 1), pruneAtOnce), "phase = 2")
}

// drop removes the traces with the earliest end that match the condition. It returns their number.
func (s *Store) drop(ctx context.Context, limit int64, which string, args ...any) (int64, error) {
	var nums []int64
	steady := context.WithoutCancel(ctx)
	err := s.transaction(ctx, func(w *writing) error {
		var num, spans, total int64
		if err := scan(
			steady,
			w,
			"SELECT num, spans FROM traces WHERE "+which+" ORDER BY start + duration LIMIT ?",
			append(args, limit),
			[]any{&num, &spans},
			func() error {
				if total < spansAtOnce {
					nums = append(nums, num)
				}
				total += spans
				return nil
			},
		); err != nil {
			return err
		}
		for _, num := range nums {
			for _, query := range []string{
				"DELETE FROM links WHERE trace = ?",
				"DELETE FROM writes WHERE trace = ?",
				"DELETE FROM spans WHERE trace = ?",
				"DELETE FROM objects WHERE trace = ?",
				"DELETE FROM origins WHERE trace = ?",
				"DELETE FROM traces WHERE num = ?",
			} {
				if err := w.exec(steady, query, num); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return int64(len(nums)), nil
}

// giveBack returns free pages to the file system.
func (s *Store) giveBack(ctx context.Context) error {
	left := int64(-1)
	for {
		free, err := s.number(ctx, "PRAGMA freelist_count")
		if err != nil {
			return err
		}
		if free == 0 || free == left {
			break
		}
		left = free
		if err := s.alone(ctx, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", pagesAtOnce)); err != nil {
			return err
		}
	}
	return s.alone(ctx, "PRAGMA wal_checkpoint(PASSIVE)") // the file shrinks with it
}

// alone runs a statement of the writer outside a transaction.
func (s *Store) alone(ctx context.Context, query string) error {
	leave, err := s.enter()
	if err != nil {
		return err
	}
	defer leave()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.guard(ctx); err != nil {
		return err
	}
	defer s.note()
	_, err = s.writer.ExecContext(ctx, query)
	return err
}

func (s *Store) used(ctx context.Context) (int64, error) { return s.number(ctx, selectBytes) }

func (s *Store) number(ctx context.Context, query string) (n int64, err error) {
	err = s.snapshot(ctx, func(q querier) error {
		return scan(ctx, q, query, nil, []any{&n}, func() error { return nil })
	})
	return n, err
}
