// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"slices"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/question"
)

// indexes answer the most frequent questions. That by kind needs no rows for the newest of a kind with a slow
// start. It is in the order of insertion, so its pages are full. Lists and maps are only searched by lifecycle.
const indexes = `
CREATE INDEX lifecycles_object ON lifecycles (trace, object);
CREATE INDEX lifecycles_kind ON lifecycles (kind, start, phase_startup, volumes);
CREATE INDEX lifecycles_start ON lifecycles (start);
CREATE INDEX lifecycles_namespace ON lifecycles (namespace, start);
`

// Schema returns the statements that create the tables of lifecycles. The tables traces and objects are the
// archive's: the number and ID of a trace, and the trace, number, group, name and UID of an object are used.
//
// Times are Unix nanoseconds, and lengths nanoseconds. An empty text means none.
func Schema() string {
	columns := []string{
		"id INTEGER PRIMARY KEY", "trace INTEGER NOT NULL", "object INTEGER NOT NULL", "span BLOB NOT NULL",
	}
	var collections strings.Builder
	for _, f := range question.Fields() {
		switch {
		case f.Type == question.List, f.Type == question.Map:
			collections.WriteString(collection(&f) + ";\n")
		case f.Table == question.Lifecycles:
			columns = append(columns, column(&f))
		}
	}
	return "\nCREATE TABLE lifecycles (\n  " + strings.Join(columns, ",\n  ") +
		"\n) STRICT;" + indexes + collections.String()
}

// Extend returns the statements that add what a file lacks for fields. The file has the columns given as
// "table.column". Lifecycles that are stored already do not have the values.
func Extend(columns []string) []string {
	var out []string
	for _, f := range question.Fields() {
		switch {
		case slices.Contains(columns, f.Table+"."+f.Column):
		case f.Type == question.List, f.Type == question.Map:
			out = append(out, collection(&f))
		case f.Table == question.Lifecycles:
			out = append(out, "ALTER TABLE lifecycles ADD COLUMN "+column(&f))
		}
	}
	return out
}

// column returns the definition of the column of a field. The default is for the rows of an older program in a file
// with this column.
func column(f *question.Field) string {
	switch {
	case f.Type == question.String:
		return f.Column + " TEXT NOT NULL DEFAULT ''"
	case f.Optional:
		return f.Column + " INTEGER"
	}
	return f.Column + " INTEGER NOT NULL DEFAULT 0"
}

// collection returns the statement that creates the table of a list or a map.
func collection(f *question.Field) string {
	value := ""
	if f.Type == question.Map {
		value = " value TEXT NOT NULL,"
	}
	return "CREATE TABLE " + f.Table + " (lifecycle INTEGER NOT NULL, " + f.Column + " TEXT NOT NULL," + value +
		" PRIMARY KEY (lifecycle, " + f.Column + ")) STRICT, WITHOUT ROWID"
}
