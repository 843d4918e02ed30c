// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"database/sql"
	"reflect"
	"testing"

	"go.opentelemetry.io/otel/trace"
)

// reference holds the rows of the finished traces in a whole file.
type reference struct {
	ids  []trace.TraceID
	rows [][]keyed // by the index in ids
}

// keyed is one row, with the query for it by its key.
type keyed struct {
	query string
	args  []any
	row   [][]any
}

func referenceOf(t *testing.T, whole string) *reference {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+whole+"?mode=ro&immutable=1")
	must(t, err)
	defer db.Close()
	out := &reference{}
	for _, head := range rowsOf(db, "SELECT num, id FROM traces WHERE phase = 2") {
		rows := []keyed{{query: "SELECT * FROM traces WHERE num = ?", args: []any{head[0]}}}
		rows = append(rows, partsOf(db, head[0].(int64))...)
		for i := range rows {
			rows[i].row = rowsOf(db, rows[i].query, rows[i].args...)
		}
		var id trace.TraceID
		copy(id[:], head[1].([]byte))
		out.ids, out.rows = append(out.ids, id), append(out.rows, rows)
	}
	return out
}

// partsOf returns the parts of a trace.
func partsOf(db *sql.DB, num int64) []keyed {
	var out []keyed
	for _, row := range rowsOf(db, "SELECT num FROM parts WHERE num >> 20 = ?", num) {
		out = append(out, keyed{query: "SELECT * FROM parts WHERE num = ?", args: row})
	}
	return out
}

// intact returns the traces whose rows are all the same in the damaged file. It reads each row
// alone, by its key.
func (r *reference) intact(t *testing.T, damaged string) []trace.TraceID {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+damaged+"?mode=ro&immutable=1&_pragma=cell_size_check(1)")
	must(t, err)
	defer db.Close()
	var out []trace.TraceID
	for i, id := range r.ids {
		same := true
		for _, k := range r.rows[i] {
			if same = reflect.DeepEqual(k.row, rowsOf(db, k.query, k.args...)); !same {
				break
			}
		}
		if same {
			out = append(out, id)
		}
	}
	return out
}

// rowsOf returns all rows, or none after an error.
func rowsOf(db *sql.DB, query string, args ...any) [][]any {
	rows, err := db.Query(query, args...)
	if err != nil {
		return nil
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil
	}
	var out [][]any
	for rows.Next() {
		row, to := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			to[i] = &row[i]
		}
		if rows.Scan(to...) != nil {
			return nil
		}
		out = append(out, row)
	}
	if rows.Err() != nil {
		return nil
	}
	return out
}
