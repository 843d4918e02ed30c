// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"context"
	"database/sql"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/question"
	"github.com/kube-lifeline/lifeline/app/internal/question/questiontest"
	"github.com/kube-lifeline/lifeline/app/internal/question/sqlite"
)

var (
	update      = flag.Bool("update", false, "rewrite the golden files in testdata")
	expressions = flag.Int("expressions", 0, "the number of random expressions; 0 means the usual one")
	seed        = flag.Uint64("seed", 1, "the seed of the random expressions")
)

// TestRandom compares SQLite with CEL.
func TestRandom(t *testing.T) {
	n := *expressions
	switch {
	case n > 0:
	case testing.Short():
		n = 500
	default:
		n = 2_000
	}
	questiontest.Run(t, &engine{db: open(t)}, *seed, n)
}

// engine is a database in memory.
type engine struct {
	sqlite.Dialect
	db   *sql.DB
	rows int
}

// open returns an empty database in memory, with one connection.
func open(tb testing.TB) *sql.DB {
	tb.Helper()
	if err := sqlite.Register(); err != nil {
		tb.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file::memory:?_dqs=0")
	if err != nil {
		tb.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	tb.Cleanup(func() { _ = db.Close() })
	execute(tb, db, sqlite.Schema()+`
		CREATE TABLE traces (num INTEGER PRIMARY KEY, id BLOB) STRICT;
		CREATE TABLE objects (trace INTEGER, num INTEGER, api_group TEXT NOT NULL DEFAULT '', name TEXT NOT NULL,
			uid TEXT NOT NULL DEFAULT '', PRIMARY KEY (trace, num)) STRICT, WITHOUT ROWID;
		CREATE INDEX objects_name ON objects (name);
		CREATE INDEX objects_uid ON objects (uid);`+sqlite.SchemaOfSteps)
	return db
}

func execute(tb testing.TB, db *sql.DB, statement string, args ...any) {
	tb.Helper()
	if _, err := db.ExecContext(context.Background(), statement, args...); err != nil {
		tb.Fatalf("%s: %v", statement, err)
	}
}

// Store implements questiontest.Engine.
func (e *engine) Store(tb testing.TB, rows []*question.Lifecycle) {
	tb.Helper()
	e.rows = len(rows)
	for _, f := range question.Fields() {
		if f.Table != "" {
			execute(tb, e.db, "DELETE FROM "+f.Table)
		}
	}
	columns := []string{"id", "trace", "object", "span"}
	for _, f := range question.Fields() {
		if f.Table == question.Lifecycles {
			columns = append(columns, f.Column)
		}
	}
	insert := "INSERT INTO lifecycles (" + strings.Join(columns, ", ") +
		") VALUES (?" + strings.Repeat(", ?", len(columns)-1) + ")"
	for id, l := range rows {
		values := []any{id, id, 7, []byte{byte(id)}}
		for _, f := range question.Fields() {
			if f.Table == question.Lifecycles {
				values = append(values, f.Stored(l))
			}
		}
		execute(tb, e.db, insert, values...)
		execute(tb, e.db, "INSERT INTO traces (num, id) VALUES (?, ?)", id, l.Trace[:])
		execute(tb, e.db, "INSERT INTO objects (trace, num, api_group, name, uid) VALUES (?, 7, ?, ?, ?)", id,
			l.Object.Group, l.Object.Name, string(l.Object.UID))
		for _, f := range question.Fields() {
			into := "INSERT INTO " + f.Table + " VALUES (?, ?"
			switch v := l.Values[f.Name].(type) {
			case []string:
				for _, element := range v {
					execute(tb, e.db, into+")", id, element)
				}
			case map[string]string:
				for key, value := range v {
					execute(tb, e.db, into+", ?)", id, key, value)
				}
			}
		}
		if steps := sqlite.EncodeSteps(l.Steps, time.Time.UnixNano); steps != nil {
			execute(tb, e.db, "INSERT INTO phases (lifecycle, steps) VALUES (?, ?)", id, steps)
		}
	}
}

// Values implements questiontest.Engine.
func (e *engine) Values(tb testing.TB, c question.Condition) []*bool {
	tb.Helper()
	out := make([]*bool, e.rows)
	query(tb, e.db, "SELECT l.id, "+c.SQL+" FROM "+sqlite.From(c.SQL), c.Args, func(scan func(...any) error) error {
		var id int
		var value sql.NullInt64
		if err := scan(&id, &value); err != nil {
			return err
		}
		if value.Valid {
			out[id] = new(value.Int64 == 1)
		}
		return nil
	})
	return out
}

// Lengths implements questiontest.Engine.
func (e *engine) Numbers(tb testing.TB, of question.Operand, args []any) []*int64 {
	tb.Helper()
	out := make([]*int64, e.rows)
	query(tb, e.db, "SELECT l.id, "+of.SQL+" FROM "+sqlite.From(of.SQL), args, func(scan func(...any) error) error {
		var id int
		var value *int64
		err := scan(&id, &value)
		out[id] = value
		return err
	})
	return out
}

// Matching implements questiontest.Engine.
func (e *engine) Matching(tb testing.TB, c question.Condition) []int {
	tb.Helper()
	var out []int
	query(tb, e.db, "SELECT l.id FROM "+sqlite.From(c.SQL)+" WHERE "+c.SQL+" ORDER BY l.id", c.Args,
		func(scan func(...any) error) error {
			var id int
			err := scan(&id)
			out = append(out, id)
			return err
		})
	return out
}

// query calls each for the rows of the result.
func query(tb testing.TB, db *sql.DB, statement string, args []any, each func(scan func(...any) error) error) {
	tb.Helper()
	rows, err := db.QueryContext(context.Background(), statement, args...)
	if err != nil {
		tb.Fatalf("%s\n%q: %v", statement, args, err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			tb.Fatalf("%s\n%q: %v", statement, args, err)
		}
	}
	if err := rows.Err(); err != nil {
		tb.Fatalf("%s\n%q: %v", statement, args, err)
	}
}
