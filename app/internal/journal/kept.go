// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/database"
)

// maxKept bounds the list of kept traces. It takes some 50 bytes for each.
const maxKept = 1_000_000

// Kept reports whether a finished trace was kept, and whether it was for the sender. It decides
// about the trace's later spans.
func (j *Journal) Kept(ctx context.Context, id trace.TraceID) (kept, sent bool, err error) {
	db := j.database()
	err = db.Read(ctx, func(q database.Querier) error {
		return database.Scan(ctx, q, "SELECT sent FROM kept WHERE trace = ?", []any{id[:]}, []any{&sent}, func() error {
			kept = true
			return nil
		})
	})
	if err != nil {
		return false, false, db.Failed(ctx, "read the list of kept traces of", err)
	}
	return kept, sent, nil
}

// Keep adds traces to the list of kept ones. The later spans of a trace are for the sender if it was
// sent; an earlier decision about that stays.
func (j *Journal) Keep(ctx context.Context, ids []trace.TraceID, at time.Time, sent bool) error {
	db := j.database()
	err := db.Write(ctx, func(ctx context.Context, tx *database.Tx) error {
		for _, id := range ids {
			if err := keep(ctx, tx, id, at, sent); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return db.Failed(ctx, "write to", err)
	}
	return nil
}

// keep adds one trace; the first decision about sending stays.
func keep(ctx context.Context, tx *database.Tx, id trace.TraceID, at time.Time, sent bool) error {
	return tx.Exec(
		ctx,
		"INSERT INTO kept (trace, at, sent) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET at = excluded.at",
		id[:],
		at.UnixNano(),
		sent,
	)
}

// forgetKept removes the kept traces from before since, and the oldest above the bound.
func (j *Journal) forgetKept(ctx context.Context, since time.Time, most int) error {
	return j.database().Write(ctx, func(ctx context.Context, tx *database.Tx) error {
		if err := tx.Exec(ctx, "DELETE FROM kept WHERE at < ?", since.UnixNano()); err != nil {
			return err
		}
		return tx.Exec(
			ctx,
			"DELETE FROM kept WHERE trace IN (SELECT trace FROM kept ORDER BY at DESC LIMIT -1 OFFSET ?)",
			most,
		)
	})
}
