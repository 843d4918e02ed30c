// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// writeKind is what a write has in common with others.
type writeKind struct{ verb, part, subresource, actor, user, source string }

// usedKind is a row of the table write_kinds.
type usedKind struct{ num, latest int64 }

// ahead is how far the column latest of a kind may be ahead of its last write, so that few writes
// change it.
const ahead = int64(time.Hour)

// kind returns the number of the kind of a write.
func (d *deriver) kind(ctx context.Context, w *store.Write) (int64, error) {
	k := writeKind{text(w.Verb), text(w.Part), text(w.Subresource), text(w.Actor), text(w.User), text(string(w.Source))}
	until := nanos(w.End)
	used := d.kinds[k]
	if used == nil {
		used = &usedKind{}
		args := []any{k.verb, k.part, k.subresource, k.actor, k.user, k.source}
		if err := d.Exec(
			ctx, "INSERT INTO write_kinds (verb, part, subresource, actor, user, source, latest) "+
				"VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", append(args, until)...,
		); err != nil {
			return 0, err
		}
		if err := database.Scan(
			ctx, d, "SELECT num, latest FROM write_kinds WHERE verb = ? AND part = ? AND subresource = ? "+
				"AND actor = ? AND user = ? AND source = ?", args, []any{&used.num, &used.latest}, nothing,
		); err != nil {
			return 0, err
		}
		d.kinds[k] = used
	}
	if until <= used.latest {
		return used.num, nil
	}
	used.latest = max(until, until+ahead) // without an overflow
	return used.num, d.Exec(ctx, "UPDATE write_kinds SET latest = ? WHERE num = ?", used.latest, used.num)
}

// tidy removes operations without spans, and kinds of writes that are older than all writes. Exactly
// removes all kinds without writes: it reads all writes.
func (s *Store) tidy(ctx context.Context, exactly bool) error {
	kinds := "latest < (SELECT min(until) FROM writes) OR NOT EXISTS (SELECT 1 FROM writes)"
	if exactly {
		kinds = "num NOT IN (SELECT kind FROM writes)"
	}
	return s.db.Write(ctx, func(steady context.Context, w *database.Tx) error {
		if err := w.Overwrite(steady); err != nil {
			return err
		}
		for _, query := range []string{
			"DELETE FROM operations WHERE NOT EXISTS (SELECT 1 FROM span_index i WHERE i.operation = operations.num)",
			"DELETE FROM write_kinds WHERE " + kinds,
		} {
			if err := w.Exec(steady, query); err != nil {
				return err
			}
		}
		return nil
	})
}
