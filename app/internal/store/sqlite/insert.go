// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/database"
)

// rowsAtOnce are the numbers of rows in one statement, the largest first: a call costs more than a small row.
var rowsAtOnce = [...]int{32, 8, 2, 1}

// insertion has the statements that add rows to a table, one for each of rowsAtOnce.
type insertion struct {
	columns    int
	statements [len(rowsAtOnce)]string
}

// insertInto returns the statements for a table and its columns; end follows the rows. A failed statement fails its
// transaction (database.Tx), so it may leave some of its rows there (OR FAIL). SQLite needs no journal of it then.
func insertInto(table, end string, columns ...string) *insertion {
	out := &insertion{columns: len(columns)}
	row := "(" + params(len(columns)) + ")"
	first := "INSERT OR FAIL INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES " + row
	for i, rows := range rowsAtOnce {
		out.statements[i] = first + strings.Repeat(", "+row, rows-1) + end
	}
	return out
}

// rowsOf collects rows for a table.
type rowsOf struct {
	*insertion
	args []any
}

// addRow adds a row.
func (r *rowsOf) addRow(values ...any) { r.args = append(r.args, values...) }

// put adds a row, and inserts the rows so far if the largest statement is full.
func (r *rowsOf) put(ctx context.Context, tx *database.Tx, values ...any) error {
	r.addRow(values...)
	if len(r.args) < rowsAtOnce[0]*r.columns {
		return nil
	}
	return r.flush(ctx, tx)
}

// flush inserts the rows.
func (r *rowsOf) flush(ctx context.Context, tx *database.Tx) error {
	args := r.args
	for i, rows := range rowsAtOnce {
		for n := rows * r.columns; len(args) >= n; args = args[n:] {
			if err := tx.Exec(ctx, r.statements[i], args[:n]...); err != nil {
				return err
			}
		}
	}
	r.args = r.args[:0]
	return nil
}

// flushAll inserts the rows for several tables, in that order.
func flushAll(ctx context.Context, tx *database.Tx, all ...*rowsOf) error {
	for _, r := range all {
		if err := r.flush(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}
