// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// rollupWindow is the number of rollups that one query of a salvage reads.
const rollupWindow = 1024

// rollups reads the rollups of the file from a number on, and calls into for each part. What cannot be read is left
// out. The positions of the parts follow those of the traces.
func (s *salvage) rollups(ctx context.Context, from int64, into func(context.Context, *Part) error) error {
	var first, last *int64
	if err := s.read(
		ctx, "SELECT min(id), max(id) FROM rollups", nil, []any{&first, &last}, nothing,
	); err != nil || last == nil {
		return ctx.Err() // a file of an earlier version has none
	}
	width := int64(rollupWindow)
	for at := max(1, from, *first); at > 0 && at <= *last; {
		end := *last
		if end-at >= width {
			end = at + width - 1
		}
		some, ids := s.someRollups(ctx, at, end)
		if err := ctx.Err(); err != nil {
			return err
		}
		cut := len(some)
		for end < *last && cut > 0 && some[cut-1].Trace == some[len(some)-1].Trace {
			cut-- // the last trace may have more in the next window
		}
		at = end + 1
		if cut > 0 && cut < len(some) {
			at, some = ids[cut], some[:cut]
		}
		if len(some) == 0 {
			if width *= 2; width <= 0 { // a damaged page at the end may hold any number
				return nil
			}
			continue
		}
		width = rollupWindow
		if err := into(ctx, &Part{
			Batches: []*store.Batch{{Revision: 1, AsOf: time.Unix(0, 0), Rollups: some}},
			Next:    s.last + at, End: s.last + *last + 1,
		}); err != nil {
			return err
		}
	}
	return nil
}

// someRollups reads the rollups from lo to hi, and their numbers. It divides an unreadable range until each rest is one
// number.
func (s *salvage) someRollups(ctx context.Context, lo, hi int64) (out []store.Rollup, ids []int64) {
	err := s.db.Read(ctx, func(from database.Querier) error {
		out, ids = nil, nil
		return scanRollups(
			ctx, from, selectRollups+"WHERE id BETWEEN ? AND ? ORDER BY id", []any{lo, hi}, nil,
			func(at rollupPlace, r *store.Rollup) error {
				out, ids = append(out, *r), append(ids, at.id)
				return nil
			},
		)
	})
	if err == nil || ctx.Err() != nil {
		return out, ids
	}
	if lo == hi {
		return nil, nil
	}
	mid := lo + (hi-lo)/2
	out, ids = s.someRollups(ctx, lo, mid)
	right, further := s.someRollups(ctx, mid+1, hi)
	return append(out, right...), append(ids, further...)
}
