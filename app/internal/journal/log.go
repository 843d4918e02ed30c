// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Consumer is a reader of the log, or several of them.
type Consumer uint8

// The consumers.
const (
	// Archive is the writer of the archive.
	Archive Consumer = 1 << iota
	// Sender is the sender of OTLP.
	Sender
)

// Item describes an entry of the log.
type Item struct {
	// Seq is the number of the entry. Numbers grow and are never used again.
	Seq uint64
	// Revision is the look of the entry, and AsOf its time. The entries of one look are one batch of
	// the archive, at each attempt.
	Revision int64
	AsOf     time.Time
	TraceID  trace.TraceID
	// Amends marks additional spans of a finished trace.
	Amends bool
	// Spans counts its spans, and Bytes is its packed size.
	Spans, Bytes int
	// For are the consumers that have not done it.
	For Consumer
}

// Entry is a finished trace, or additional spans of one, in the log. Its other fields come from
// Commit, except For and Amends.
type Entry struct {
	Item
	Trace *span.Trace
	data  []byte
}

// Pending returns the entries that wait for any of the consumers, in order.
func (j *Journal) Pending(ctx context.Context, of Consumer) ([]Item, error) {
	var out []Item
	var i Item
	var id []byte
	var asOf int64
	db := j.database()
	err := db.Read(ctx, func(q database.Querier) error {
		return database.Scan(
			ctx,
			q,
			"SELECT seq, revision, as_of, trace, amends, spans, waits, length(data) "+
				"FROM log WHERE waits & ? ORDER BY seq",
			[]any{int64(of)},
			[]any{&i.Seq, &i.Revision, &asOf, &id, &i.Amends, &i.Spans, &i.For, &i.Bytes},
			func() error {
				one := i
				copy(one.TraceID[:], id)
				one.AsOf = time.Unix(0, asOf).UTC()
				out = append(out, one)
				return nil
			},
		)
	})
	if err != nil {
		return nil, db.Failed(ctx, "read the log of", err)
	}
	return out, nil
}

// Read returns the trace of an entry: store.ErrNotFound if it is done, or store.ErrDamaged.
func (j *Journal) Read(ctx context.Context, seq uint64) (*span.Trace, error) {
	var data []byte
	db := j.database()
	err := db.Read(ctx, func(q database.Querier) error {
		var raw []byte
		//nolint:gosec // the number is far below the limit
		return database.Scan(
			ctx,
			q,
			"SELECT data FROM log WHERE seq = ?",
			[]any{int64(seq)},
			[]any{&raw},
			func() error {
				data = append([]byte{}, raw...)
				return nil
			},
		)
	})
	if err == nil && data == nil {
		err = store.ErrNotFound
	}
	var t *span.Trace
	if err == nil {
		if t, err = span.UnpackTrace(data); err != nil {
			err = fmt.Errorf("%w: %w", store.ErrDamaged, err)
		}
	}
	if err != nil {
		return nil, db.Failed(ctx, fmt.Sprintf("read entry %d of", seq), err)
	}
	return t, nil
}

// maxDone bounds the entries that one transaction marks.
const maxDone = 1000

// Done marks entries as done by the consumers. An entry that all of its consumers have done is
// removed. Unknown numbers are ignored.
func (j *Journal) Done(ctx context.Context, by Consumer, seqs ...uint64) error {
	db := j.database()
	for len(seqs) > 0 {
		some := seqs[:min(maxDone, len(seqs))]
		seqs = seqs[len(some):]
		err := db.Write(ctx, func(ctx context.Context, tx *database.Tx) error {
			if by&Archive != 0 {
				if err := archived(ctx, tx, some); err != nil {
					return err
				}
			}
			for _, seq := range some {
				at := int64(seq) //nolint:gosec // the number is far below the limit
				if err := tx.Exec(ctx, "DELETE FROM log WHERE seq = ? AND waits & ~? = 0", at, int64(by)); err != nil {
					return err
				}
				if err := tx.Exec(ctx, "UPDATE log SET waits = waits & ~? WHERE seq = ?", int64(by), at); err != nil {
					return err
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

// archived notes the last look among the entries.
func archived(ctx context.Context, tx *database.Tx, seqs []uint64) error {
	//nolint:gosec // the number is far below the limit
	return tx.Exec(ctx, "INSERT INTO meta (name, value) SELECT ?, revision FROM log WHERE seq = ?"+
		" ON CONFLICT DO UPDATE SET value = max(value, excluded.value)", metaArchived, int64(slices.Max(seqs)))
}
