// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/database"
)

// rowsAtOnce is the number of rows in one statement: a call costs more than a small row.
const rowsAtOnce = 16

// rowsOf collects rows for a table.
type rowsOf struct {
	table   string
	columns []string
	// end is the end of the statement.
	end  string
	args []any
}

func newRows(table string, columns ...string) *rowsOf { return &rowsOf{table: table, columns: columns} }

// add adds a row.
func (r *rowsOf) add(values ...any) { r.args = append(r.args, values...) }

// flush inserts the rows.
func (r *rowsOf) flush(ctx context.Context, tx *database.Tx) error {
	size := len(r.columns)
	for len(r.args) > 0 {
		n := 1
		if len(r.args) >= rowsAtOnce*size {
			n = rowsAtOnce
		}
		if err := tx.Exec(ctx, r.statement(n), r.args[:n*size]...); err != nil {
			return err
		}
		r.args = r.args[n*size:]
	}
	return nil
}

func (r *rowsOf) statement(n int) string {
	row := "(" + params(len(r.columns)) + ")"
	return "INSERT INTO " + r.table + " (" + strings.Join(r.columns, ", ") + ") VALUES " +
		row + strings.Repeat(", "+row, n-1) + r.end
}
