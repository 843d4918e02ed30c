// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

const (
	// pruneAtOnce bounds the traces in one transaction, and spansAtOnce their spans, so that
	// writers wait only briefly.
	pruneAtOnce, spansAtOnce = 100, 10_000
	// lateness is the time for which amendments wait for their trace.
	lateness = time.Hour
)

// Prune removes finished traces until the limits hold.
func (s *Store) Prune(ctx context.Context, l store.Limits) (store.Pruned, error) {
	var out store.Pruned
	if err := s.Check(ctx); err != nil {
		return out, err
	}
	before, err := s.db.Used(ctx)
	if err == nil {
		err = s.prune(ctx, l, &out)
	}
	after, sized := s.db.Used(context.WithoutCancel(ctx))
	if sized == nil {
		out.Bytes = max(0, before-after)
	}
	if err != nil {
		return out, s.db.Failed(ctx, "remove old traces from", err)
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
	return s.db.GiveBack(ctx)
}

// shrink removes about the number of excess traces, and at least one, if all data take more than
// limit.
func (s *Store) shrink(ctx context.Context, limit int64) (int64, error) {
	used, err := s.db.Used(ctx)
	if err != nil || limit <= 0 || used <= limit {
		return 0, err
	}
	var traces int64
	if err := s.db.Read(ctx, func(q database.Querier) error {
		return database.Scan(
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
	err := s.db.Write(ctx, func(steady context.Context, w *database.Tx) error {
		var num, spans, total int64
		if err := database.Scan(
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
				if err := w.Exec(steady, query, num); err != nil {
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
