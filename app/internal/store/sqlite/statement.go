// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// The limits of a Statement.
const (
	// StatementTime bounds its time.
	StatementTime = 10 * time.Second
	// StatementRows bounds its rows.
	StatementRows = 100_000
	// maxText bounds a text of SQLite, and maxAnswer the answer in memory, in bytes.
	maxText, maxAnswer = 64 << 20, 64 << 20
	// pageSize is the size of a page of SQLite's temporary tables.
	pageSize = 4096
)

// temporarySchema is SQLite's table of temporary tables.
const temporarySchema = "sqlite_temp_master"

// ErrNotPermitted is the error of a statement that reads other tables than the views, or changes
// something.
var ErrNotPermitted = errors.New("only SELECT from the views is permitted")

// Statement is a SELECT of a person, over the views.
type Statement struct {
	// Path is the file of the archive. A server may use it meanwhile.
	Path string
	SQL  string
	// Time is StatementTime if it is 0.
	Time time.Duration
}

// Result is the answer of a Statement.
type Result struct {
	Columns []string
	// Rows have an int64, float64, string, []byte or nil in each column.
	Rows [][]any
	// More is true if there are further rows.
	More bool
}

// Run returns the answer. It reads only. An error at the end of the time is store.ErrTooLong.
func (s Statement) Run(ctx context.Context) (result *Result, err error) {
	if err := register(); err != nil {
		return nil, err
	}
	limit := s.Time
	if limit == 0 {
		limit = StatementTime
	}
	db, err := database.OpenUnlocked(ctx, s.Path, schema)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = db.Connection(ctx, func(conn *sql.Conn) error {
		secret, err := restrict(ctx, conn)
		if err != nil {
			return db.Failed(ctx, "read", err)
		}
		timed, cancel := context.WithTimeoutCause(ctx, limit, store.ErrTooLong)
		defer cancel()
		result, err = rowsOfStatement(timed, conn, s.SQL, secret)
		if ended := context.Cause(timed); err != nil && ended != nil {
			return fmt.Errorf("%w: %w", ended, err)
		}
		return err
	})
	return result, err
}

// firstWord returns the first word of a statement in upper case, after comments.
func firstWord(statement string) string {
	for {
		statement = strings.TrimLeft(statement, " \t\r\n")
		var end string
		switch {
		case strings.HasPrefix(statement, "--"):
			end = "\n"
		case strings.HasPrefix(statement, "/*"):
			end = "*/"
		default:
			isLetter := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
			return strings.ToUpper(statement[:len(statement)-len(strings.TrimLeftFunc(statement, isLetter))])
		}
		_, rest, found := strings.Cut(statement, end)
		if !found {
			return ""
		}
		statement = rest
	}
}

// rowsOfStatement runs the statement into a table in memory, and reads that. The driver interrupts a
// statement that it executes, but none between two of its rows.
func rowsOfStatement(ctx context.Context, conn *sql.Conn, statement, secret string) (*Result, error) {
	statement = strings.Trim(statement, "; \t\r\n")
	switch firstWord(statement) {
	case "SELECT", "WITH", "VALUES":
	default:
		return nil, notPermitted()
	}
	if _, err := conn.ExecContext(ctx, fmt.Sprintf(
		"CREATE TEMP TABLE %s AS SELECT * FROM (%s\n) LIMIT %d", secret, statement, StatementRows+1)); err != nil {
		return nil, explained(statement, err)
	}
	rows, err := conn.QueryContext(ctx, fmt.Sprintf("SELECT * FROM temp.%s ORDER BY rowid", secret))
	if err != nil {
		return nil, explained(statement, err)
	}
	defer func() { _ = rows.Close() }()
	out := &Result{}
	if out.Columns, err = rows.Columns(); err != nil {
		return nil, err
	}
	for rows.Next() {
		if len(out.Rows) == StatementRows {
			out.More = true
			return out, nil
		}
		row, to := make([]any, len(out.Columns)), make([]any, len(out.Columns))
		for i := range row {
			to[i] = &row[i]
		}
		if err := rows.Scan(to...); err != nil {
			return nil, err
		}
		out.Rows = append(out.Rows, row)
	}
	return out, rows.Err()
}

// explained replaces SQLite's errors for what restrict denies, and for an unknown name.
func explained(statement string, err error) error {
	var failed *sqlite.Error
	if errors.As(err, &failed) && failed.Code()&0xff == lib.SQLITE_AUTH {
		return notPermitted()
	}
	if failed != nil && failed.Code()&0xff == lib.SQLITE_FULL {
		return fmt.Errorf("the answer is larger than %d MiB: select fewer columns or rows", maxAnswer>>20)
	}
	for _, f := range lifecycles().columns {
		if strings.Contains(err.Error()+" ", "no such column: l."+f.Column+" ") {
			return fmt.Errorf("the archive is older than the field %s: start lifeline serve once", f.Name)
		}
	}
	return similar(statement, err)
}

func notPermitted() error {
	return fmt.Errorf("%w: %s", ErrNotPermitted, strings.Join(viewNames(), ", "))
}

func viewNames() []string {
	var out []string
	for _, v := range views() {
		out = append(out, v.name)
	}
	return out
}

// restrict makes the views, and then limits the connection to reading them, and to a temporary table
// with the returned name.
//
// SQLite's authorizer gets the name of the view that reads a table. A table of a WITH clause may have
// the name of a view, too. So each view reads its tables through another one with a random name.
func restrict(ctx context.Context, conn *sql.Conn) (secret string, err error) {
	var tables []string
	var name string
	if err := database.Scan(ctx, conn, "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')", nil,
		[]any{&name}, func() error { tables = append(tables, strings.ToLower(name)); return nil }); err != nil {
		return "", err
	}
	secret = "r" + strings.ToLower(rand.Text()) + "_"
	// The file is read-only; temporary views and tables need a connection that is not.
	if _, err := conn.ExecContext(ctx, fmt.Sprintf(
		"PRAGMA query_only = 0; PRAGMA temp_store = MEMORY; PRAGMA temp.max_page_count = %d", maxAnswer/pageSize,
	)); err != nil {
		return "", err
	}
	for _, v := range views() {
		for _, create := range []string{
			"CREATE TEMP VIEW " + secret + v.name + " AS " + v.query,
			"CREATE TEMP VIEW " + v.name + " AS SELECT * FROM temp." + secret + v.name,
		} {
			if _, err := conn.ExecContext(ctx, create); err != nil {
				return "", err
			}
		}
	}
	for id, most := range map[int]int{lib.SQLITE_LIMIT_LENGTH: maxText, lib.SQLITE_LIMIT_ATTACHED: 0} {
		if _, err := sqlite.Limit(conn, id, most); err != nil {
			return "", err
		}
	}
	rules := rules{secret, append(tables, "sqlite_schema", "sqlite_master", "sqlite_temp_schema", temporarySchema)}
	return secret, conn.Raw(func(driver any) error {
		c, ok := driver.(sqlite.AuthorizerRegisterer)
		if !ok {
			return errors.New("the driver of SQLite has no authorizer")
		}
		return c.RegisterAuthorizer(rules.allow)
	})
}

// rules decide what a statement may do.
type rules struct {
	// secret begins the names of the views that read tables.
	secret string
	// tables are the names of all others.
	tables []string
}

func (r rules) allow(
	action sqlite.AuthorizerActionCode, first, second, database, inside string,
) sqlite.AuthorizerReturnCode {
	permitted := false
	switch action {
	case sqlite.AuthSelect, sqlite.AuthRecursive:
		permitted = true
	case sqlite.AuthFunction:
		permitted = second != "load_extension"
	case sqlite.AuthCreateTempTable, sqlite.AuthInsert, sqlite.AuthUpdate:
		// SQLite describes the table in its schema.
		permitted = first == r.secret || first == temporarySchema
	case sqlite.AuthRead:
		permitted = r.reads(strings.ToLower(first), second, database, inside)
	}
	if permitted {
		return sqlite.AuthorizerOK
	}
	return sqlite.AuthorizerDeny
}

// reads reports whether a column may be read. Without a column, the rows of the table are counted; it
// may then be one of a WITH clause.
func (r rules) reads(table, column, database, inside string) bool {
	switch {
	case strings.HasPrefix(inside, r.secret), strings.HasPrefix(table, r.secret):
		return true
	case table == "json_each", table == "json_tree":
		return true
	case table == temporarySchema && column == "ROWID": // SQLite itself, for the temporary table
		return true
	case slices.Contains(r.tables, table), strings.HasPrefix(table, "sqlite_"), strings.HasPrefix(table, "pragma_"):
		return false
	}
	return column == "" || database == "temp" && slices.Contains(viewNames(), table)
}
