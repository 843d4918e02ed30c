// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"fmt"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Unsent returns the entries of the log whose traces forgets selects or are given, except those that
// still wait for the archive.
func (j *Journal) Unsent(
	ctx context.Context, traces []trace.TraceID, forgets func(*span.Trace) bool,
) ([]Item, error) {
	waiting, err := j.Pending(ctx, Sender)
	if err != nil {
		return nil, err
	}
	given := make(map[trace.TraceID]bool, len(traces))
	for _, id := range traces {
		given[id] = true
	}
	var out []Item
	for _, i := range waiting {
		if i.For&Archive != 0 {
			continue
		}
		t, err := j.Read(ctx, i.Seq)
		if err != nil {
			continue // it has left the log, or is unreadable
		}
		if given[i.TraceID] || forgets(t) {
			out = append(out, i)
			given[i.TraceID] = true
		}
	}
	return out, nil
}

// Forget removes entries of the log. It takes their traces, and the given ones, off the list of kept
// traces, so that their later spans are dropped. It overwrites the data, as the archive does. State
// by name stays, with the open traces in it.
func (j *Journal) Forget(ctx context.Context, traces []trace.TraceID, unsent []Item) error {
	gone := slices.Clone(traces)
	seqs := make([]uint64, len(unsent))
	for n, i := range unsent {
		gone, seqs[n] = append(gone, i.TraceID), i.Seq
	}
	db := j.database()
	if err := j.removeEntries(ctx, db, seqs); err != nil {
		return err
	}
	for part := range slices.Chunk(gone, maxDone) {
		err := db.Write(ctx, func(ctx context.Context, tx *database.Tx) error {
			for _, id := range part {
				if err := tx.Exec(ctx, "DELETE FROM kept WHERE trace = ?", id[:]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return db.Failed(ctx, "write to", err)
		}
	}
	if err := db.Purge(ctx); err != nil {
		return db.Failed(ctx, "overwrite deleted data in", err)
	}
	return nil
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
