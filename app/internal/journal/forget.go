// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Forget removes the entries of the log whose traces forgets selects, except those that still wait
// for the archive. It takes these traces, and the given ones, off the list of kept traces, so that
// their later spans are dropped. It overwrites the data, as the archive does. It returns the number
// of removed entries. State by name stays, with the open traces in it.
func (j *Journal) Forget(
	ctx context.Context, traces []trace.TraceID, forgets func(*span.Trace) bool,
) (entries int, err error) {
	waiting, err := j.Pending(ctx, Sender)
	if err != nil {
		return 0, err
	}
	var seqs []uint64
	gone := make(map[trace.TraceID]bool, len(traces))
	for _, id := range traces {
		gone[id] = true
	}
	for _, i := range waiting {
		if i.For&Archive != 0 {
			continue
		}
		t, err := j.Read(ctx, i.Seq)
		if err != nil {
			continue // it has left the log, or is unreadable
		}
		if gone[i.TraceID] || forgets(t) {
			seqs = append(seqs, i.Seq)
			gone[i.TraceID] = true
		}
	}
	db := j.database()
	if err := j.removeEntries(ctx, db, seqs); err != nil {
		return 0, err
	}
	for part := range slices.Chunk(slices.Collect(maps.Keys(gone)), maxDone) {
		err := db.Write(ctx, func(ctx context.Context, tx *database.Tx) error {
			for _, id := range part {
				if err := tx.Exec(ctx, "DELETE FROM kept WHERE trace = ?", id[:]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return len(seqs), db.Failed(ctx, "write to", err)
		}
	}
	if err := db.Purge(ctx); err != nil {
		return len(seqs), db.Failed(ctx, "overwrite deleted data in", err)
	}
	return len(seqs), nil
}

// removeEntries deletes entries of the log, and overwrites their pages.
func (*Journal) removeEntries(ctx context.Context, db *database.DB, seqs []uint64) error {
	for part := range slices.Chunk(seqs, maxDone) {
		err := db.Write(ctx, func(ctx context.Context, tx *database.Tx) error {
			if err := tx.Overwrite(ctx); err != nil {
				return err
			}
			for _, seq := range part {
				//nolint:gosec // the number is far below the limit
				if err := tx.Exec(ctx, "DELETE FROM log WHERE seq = ?", int64(seq)); err != nil {
					return fmt.Errorf("entry %d of the log: %w", seq, err)
				}
			}
			return nil
		})
		if err != nil {
			return db.Failed(ctx, "write to", err)
		}
	}
	return nil
}
