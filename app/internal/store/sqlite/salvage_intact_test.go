// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"database/sql"
	"fmt"
	"reflect"
	"testing"

	"go.opentelemetry.io/otel/trace"
)

// intactTraces returns the finished traces whose rows are all the same in the damaged file as in
// the whole one. It reads each row alone, by its key.
func intactTraces(t *testing.T, damaged, whole string) []trace.TraceID {
	t.Helper()
	a, err := sql.Open("sqlite", "file:"+whole+"?mode=ro&immutable=1")
	must(t, err)
	defer a.Close()
	b, err := sql.Open("sqlite", "file:"+damaged+"?mode=ro&immutable=1&_pragma=cell_size_check(1)")
	must(t, err)
	defer b.Close()
	var out []trace.TraceID
	ids := rowsOf(a, "SELECT num, id FROM traces WHERE phase = 2")
	for _, row := range ids {
		num := row[0]
		same := equal(a, b, "SELECT * FROM traces WHERE num = ?", num)
		for _, table := range []string{"spans", "objects", "origins"} {
			key := map[string]string{"spans": "id", "objects": "num", "origins": "num"}[table]
			for _, row := range rowsOf(a, fmt.Sprintf("SELECT %s FROM %s WHERE trace = %v", key, table, num)) {
				query := fmt.Sprintf("SELECT * FROM %s WHERE trace = ? AND %s = ?", table, key)
				same = same && equal(a, b, query, num, row[0])
			}
		}
		if same {
			var id trace.TraceID
			copy(id[:], row[1].([]byte))
			out = append(out, id)
		}
	}
	return out
}

func equal(a, b *sql.DB, query string, args ...any) bool {
	want := rowsOf(a, query, args...)
	return len(want) == 1 && reflect.DeepEqual(want, rowsOf(b, query, args...))
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
