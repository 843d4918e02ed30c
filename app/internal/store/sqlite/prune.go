// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

const (
	// pruneAtOnce bounds the traces in one transaction, and spansAtOnce their spans, so that
	// writers wait only briefly.
	pruneAtOnce, spansAtOnce = 100, 10_000
	// lateness is the time for which amendments wait for their trace.
	lateness = time.Hour
)

// tidyEvery is the time between two exact tidies: they read all writes.
const tidyEvery = 24 * time.Hour

// Prune removes traces until the limits hold.
func (s *Store) Prune(ctx context.Context, l store.Limits) (store.Pruned, error) {
	var out store.Pruned
	if err := s.Check(ctx); err != nil {
		return out, err
	}
	before, err := s.db.Used(ctx)
	for _, step := range []func() error{
		func() error { return s.learned.rollEarlier(ctx) },
		func() error { return s.learned.prune(ctx, l, &out) },
		func() error { return s.prune(ctx, l, &out) },
	} {
		if err == nil {
			err = step()
		}
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
	special := slices.Sorted(maps.Keys(l.Outcomes))
	ordinary := prunable()
	noneOf(ordinary, "outcome", special)
	steps := []func() (int64, error){
		func() (int64, error) { return s.shrink(ctx, l.Bytes, ordinary) },
		func() (int64, error) { return s.shrink(ctx, l.Bytes, prunable()) },
	}
	aged := func(f *filter, before time.Time) {
		if !before.IsZero() {
			f.add("start + duration <= ?", nanos(before))
			steps = slices.Insert(steps, 0, func() (int64, error) { return s.drop(ctx, pruneAtOnce, f) })
		}
	}
	for _, outcome := range special {
		f := prunable()
		anyOf(f, "outcome", []span.Outcome{outcome})
		aged(f, l.Outcomes[outcome])
	}
	old := *ordinary
	aged(&old, l.Before)
	for _, step := range steps {
		for {
			n, err := step()
			out.Traces += n
			if err != nil {
				return err
			}
			if n == 0 {
				break
			}
		}
	}
	if err := s.dropUnknown(ctx); err != nil {
		return err
	}
	// A pinned trace keeps the oldest write. Only an exact tidy removes the users of later ones then.
	exactly := l.Before.Sub(s.tidied) >= tidyEvery
	if exactly {
		s.tidied = l.Before
	}
	if err := s.tidy(ctx, exactly); err != nil {
		return err
	}
	return s.db.GiveBack(ctx)
}

// prunable selects the traces that Prune may remove: those of an index.
func prunable() *filter {
	f := &filter{}
	f.add("phase = 2")
	f.add("pinned = 0")
	return f
}

// dropUnknown removes amendments whose trace did not come.
func (s *Store) dropUnknown(ctx context.Context) error {
	f := &filter{}
	f.add("phase = 0")
	f.add("as_of < (SELECT value FROM meta WHERE name = ?) - ?", metaAsOf, int64(lateness))
	for {
		if n, err := s.drop(ctx, pruneAtOnce, f); err != nil || n == 0 {
			return err
		}
	}
}

// shrink removes about the number of excess traces among which, and at least one, if all data take
// more than limit.
func (s *Store) shrink(ctx context.Context, limit int64, which *filter) (int64, error) {
	if limit <= 0 {
		return 0, nil
	}
	used, err := s.db.Used(ctx)
	if err != nil || used <= limit {
		return 0, err
	}
	traces, err := s.db.Number(ctx, "SELECT count(*) FROM traces WHERE phase = 2")
	if err != nil {
		return 0, err
	}
	surplus := (used - limit) * traces / used
	return s.drop(ctx, min(max(surplus, 1), pruneAtOnce), which)
}

// drop removes the traces with the earliest end among which. It returns their number.
func (s *Store) drop(ctx context.Context, limit int64, which *filter) (int64, error) {
	var nums []int64
	err := s.db.Write(ctx, func(steady context.Context, w *database.Tx) error {
		var num, spans, total int64
		if err := database.Scan(
			steady,
			w,
			"SELECT num, spans FROM traces"+which.String()+" ORDER BY start + duration LIMIT ?",
			append(slices.Clone(which.args), limit),
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
			if err := remove(steady, w, num); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return int64(len(nums)), nil
}

// remove deletes a trace.
func remove(ctx context.Context, w *database.Tx, num int64) error {
	for _, query := range slices.Concat(lifecycles().remove, []string{
		"DELETE FROM links WHERE trace = ?",
		"DELETE FROM span_index WHERE trace = ?",
		"DELETE FROM writes WHERE trace = ?",
		"DELETE FROM objects WHERE trace = ?",
		"DELETE FROM traces WHERE num = ?",
	}) {
		if err := w.Exec(ctx, query, num); err != nil {
			return err
		}
	}
	return w.Exec(ctx, "DELETE FROM parts WHERE num >= ? AND num < ?", firstPart(num), firstPart(num+1))
}
