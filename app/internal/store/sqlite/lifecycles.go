// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"strings"
	"sync"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/question"
	questions "github.com/kube-lifeline/lifeline/app/internal/question/sqlite"
)

// lifecycleTables are the tables of lifecycles, as the fields of questions demand them.
type lifecycleTables struct {
	// columns are the fields with a column in the table lifecycles, and fields these and those of the objects.
	columns, fields []question.Field
	insert          *insertion
	// query selects the fields of the lifecycles l and their traces t, after their numbers and IDs.
	query string
	// collections are the lists and the maps.
	collections []collection
	// remove are the statements that delete the lifecycles of a trace.
	remove []string
}

// collection is the table of a list or a map.
type collection struct {
	question.Field
	insert *insertion
}

// lifecycles returns the tables.
var lifecycles = sync.OnceValue(func() *lifecycleTables {
	out := &lifecycleTables{}
	inserted, selected := []string{"id", "trace", "object", "span"}, []string{"l.id", "l.trace", "t.id", "l.span"}
	tables := []string{"phases"}
	for _, f := range question.Fields() {
		switch {
		case f.Type == question.List:
			out.collections = append(out.collections, collection{f, insertInto(f.Table, "", "lifecycle", f.Column)})
		case f.Type == question.Map:
			out.collections = append(out.collections,
				collection{f, insertInto(f.Table, "", "lifecycle", f.Column, "value")})
		case f.Table == question.Lifecycles:
			out.columns, inserted = append(out.columns, f), append(inserted, f.Column)
		}
		if f.Table == question.Objects || f.Table == question.Lifecycles {
			out.fields, selected = append(out.fields, f), append(selected, questions.Dialect{}.Field(&f))
		}
	}
	for _, c := range out.collections {
		tables = append(tables, c.Table)
	}
	out.insert = insertInto(question.Lifecycles, "", inserted...)
	query := strings.Join(selected, ", ")
	out.query = "SELECT " + query + " FROM " + lifecyclesOfTraces(query)
	for _, table := range tables {
		out.remove = append(out.remove,
			"DELETE FROM "+table+" WHERE lifecycle IN (SELECT id FROM lifecycles WHERE trace = ?)")
	}
	out.remove = append(out.remove, "DELETE FROM lifecycles WHERE trace = ?")
	return out
})

// extend adds the columns and tables of fields that are newer than the file.
func extend(ctx context.Context, db *database.DB) error {
	var columns []string
	var name string
	if err := db.Read(ctx, func(q database.Querier) error {
		columns = nil
		return database.Scan(ctx, q, "SELECT t.name || '.' || c.name FROM sqlite_schema AS t, "+
			"pragma_table_info(t.name) AS c WHERE t.type = 'table' AND t.name LIKE 'lifecycle%'", nil,
			[]any{&name}, func() error { columns = append(columns, name); return nil })
	}); err != nil {
		return err
	}
	missing := questions.Extend(columns)
	if len(missing) == 0 {
		return nil
	}
	return db.Write(ctx, func(steady context.Context, tx *database.Tx) error {
		for _, statement := range missing {
			if err := tx.Exec(steady, statement); err != nil {
				return err
			}
		}
		return nil
	})
}
