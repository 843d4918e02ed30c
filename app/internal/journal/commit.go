// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Changes are the content of one Commit.
type Changes struct {
	// AsOf is the time of the look, by the clock of the spans.
	AsOf time.Time
	// Revision is the number of the look; Commit sets it.
	Revision int64
	// Renewals is the number of renewals that the caller has seen. If there were more, Commit returns
	// ErrRenewed and changes nothing: another caller's Commit may have replaced the journal. Nil means
	// any.
	Renewals *int
	// State is kept by name. A nil value removes a name; other names stay unchanged.
	State map[string][]byte
	// Entries are appended to the log. Commit sets their numbers, look and time, unless they have
	// them already: after a renewal a caller commits entries again.
	Entries []*Entry
}

// Commit writes the changes with the next revision, all or none. After ErrRenewed the journal is
// empty. A repetition of the same changes after another error is safe.
func (j *Journal) Commit(ctx context.Context, c *Changes) error {
	j.writing.Lock()
	defer j.writing.Unlock()
	if j.loss() != nil {
		return j.renew(ctx)
	}
	if c.Renewals != nil && *c.Renewals != j.Renewals() {
		return ErrRenewed
	}
	c.Revision = j.revision + 1
	for _, e := range c.Entries {
		if e.Revision == 0 {
			e.Revision, e.AsOf = c.Revision, c.AsOf
		}
		if e.Seq == 0 {
			e.Seq = j.seq + 1
		}
		j.seq = max(j.seq, e.Seq) // also if the write fails: the entry keeps its number
		e.pack()
	}
	began := time.Now()
	db := j.database()
	err := db.Write(ctx, func(ctx context.Context, tx *database.Tx) error { return c.write(ctx, tx, j.seq) })
	if j.Wrote != nil {
		j.Wrote(time.Since(began))
	}
	if err == nil {
		j.revision = c.Revision
		return nil
	}
	err = db.Failed(ctx, "write to", err)
	if !errors.Is(err, store.ErrDamaged) {
		return err
	}
	j.lose(err)
	return j.renew(ctx)
}

func (c *Changes) write(ctx context.Context, tx *database.Tx, seq uint64) error {
	for _, name := range slices.Sorted(maps.Keys(c.State)) { // neighbours share pages
		if err := setState(ctx, tx, name, c.State[name]); err != nil {
			return err
		}
	}
	for _, e := range c.Entries {
		if err := e.write(ctx, tx); err != nil {
			return err
		}
	}
	for name, value := range map[string]int64{
		metaRevision: c.Revision, metaSeq: int64(seq), //nolint:gosec // far below the limit
	} {
		if err := tx.Exec(
			ctx,
			"INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
			name,
			value,
		); err != nil {
			return err
		}
	}
	return nil
}

func setState(ctx context.Context, tx *database.Tx, name string, value []byte) error {
	if value == nil {
		return tx.Exec(ctx, "DELETE FROM state WHERE name = ?", name)
	}
	return tx.Exec(
		ctx,
		"INSERT INTO state (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
		name,
		value,
	)
}

// pack fills in the parts of an entry that its trace determines.
func (e *Entry) pack() {
	if e.data == nil {
		e.TraceID, e.Spans = e.Trace.ID, len(e.Trace.Spans)
		e.data = span.PackTrace(e.Trace)
		e.Bytes = len(e.data)
	}
}

func (e *Entry) write(ctx context.Context, tx *database.Tx) error {
	//nolint:gosec // the number is far below the limit
	if err := tx.Exec(
		ctx,
		"INSERT OR REPLACE INTO log (seq, revision, as_of, trace, amends, spans, waits, data) "+
			"VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		int64(e.Seq),
		e.Revision,
		e.AsOf.UnixNano(),
		e.TraceID[:],
		e.Amends,
		e.Spans,
		int64(e.For),
		e.data,
	); err != nil {
		return fmt.Errorf("entry %d of the log: %w", e.Seq, err)
	}
	if e.Amends {
		return nil
	}
	return keep(ctx, tx, e.TraceID, e.AsOf, e.For&Sender != 0)
}
