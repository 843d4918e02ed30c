// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/database"
)

// rowsAtOnce is the number of rows in one statement: a call costs more than a small row.
const rowsAtOnce = 16

// insertion has the statements that add rows to a table.
type insertion struct {
	columns int
	// one adds a row, and full as many as rowsAtOnce.
	one, full string
}

// insertInto returns the statements for a table and its columns, with that end.
func insertInto(table, end string, columns ...string) *insertion {
	row := "(" + params(len(columns)) + ")"
	one := "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES " + row
	return &insertion{len(columns), one + end, one + strings.Repeat(", "+row, rowsAtOnce-1) + end}
}

// rowsOf collects rows for a table.
type rowsOf struct {
	*insertion
	args []any
}

// add adds a row.
func (r *rowsOf) add(values ...any) { r.args = append(r.args, values...) }

// put adds a row, and inserts the rows so far if a statement is full.
func (r *rowsOf) put(ctx context.Context, tx *database.Tx, values ...any) error {
	r.add(values...)
	if len(r.args) < rowsAtOnce*r.columns {
		return nil
	}
	return r.flush(ctx, tx)
}

// flush inserts the rows.
func (r *rowsOf) flush(ctx context.Context, tx *database.Tx) error {
	args := r.args
	for len(args) > 0 {
		n, statement := 1, r.one
		if len(args) >= rowsAtOnce*r.columns {
			n, statement = rowsAtOnce, r.full
		}
		if err := tx.Exec(ctx, statement, args[:n*r.columns]...); err != nil {
			return err
		}
		args = args[n*r.columns:]
	}
	r.args = r.args[:0]
	return nil
}
