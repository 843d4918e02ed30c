// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"database/sql"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/docs"
	"github.com/kube-lifeline/lifeline/app/internal/question"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
)

var updateViews = flag.Bool("update-views", false, "rewrite the views in docs/guides/questions.md")

// archive is the file of an archive with two traces. It stays open meanwhile, as in a server.
func archive(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lifeline.db")
	s, err := sqlite.Open(t.Context(), store.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := s.Write(t.Context(), &store.Batch{
		Revision: 1, AsOf: spantest.Epoch.Add(time.Hour), Finished: []*span.Trace{spantest.Apply(), spantest.Rollout()},
	}); err != nil {
		t.Fatal(err)
	}
	return path
}

// ask runs a statement.
func ask(t *testing.T, path, statement string) (*sqlite.Result, error) {
	t.Helper()
	return sqlite.Statement{Path: path, SQL: statement}.Run(t.Context())
}

func TestStatement(t *testing.T) {
	path := archive(t)
	for statement, want := range map[string][][]any{
		"SELECT id, outcome, start, duration FROM v_traces ORDER BY start_ns, id LIMIT 1": {
			{spantest.Apply().ID.String(), "converged", "2026-03-01T12:00:00.000Z", 4.21},
		},
		"SELECT count(*) > 10 FROM v_spans": {{int64(1)}},
		"SELECT count(*) > 0 FROM v_lifecycles UNION ALL SELECT count(*) > 0 FROM v_writes UNION ALL " +
			"SELECT count(*) > 0 FROM v_traces": {{int64(1)}, {int64(1)}, {int64(1)}},
		"SELECT 'rows' FROM v_lifecycles LIMIT 1": {{"rows"}},
		`SELECT kind, object, verb, "end" FROM v_writes ORDER BY end_ns LIMIT 1`: {
			{"Deployment", "web", "create", "2026-03-01T12:00:00.005Z"},
		},
		"WITH p AS (SELECT trace, sum(duration) AS d FROM v_spans WHERE name = 'pull image' GROUP BY trace) " +
			"SELECT count(*), (SELECT count(*) FROM p) FROM v_traces JOIN p ON p.trace = v_traces.id": {
			{int64(1), int64(1)},
		},
		"-- a comment\n/* and another */ SELECT(3)": {{int64(3)}},
		"VALUES(3)":                            {{int64(3)}},
		"VALUES (3) ;":                         {{int64(3)}},
		"SELECT value FROM json_each('[1,2]')": {{int64(1)}, {int64(2)}},
		"SELECT x'00ff', NULL, upper('a') FROM v_traces WHERE actor = 'kubectl' LIMIT 1\n-- a comment": {
			{[]byte{0, 255}, nil, "A"},
		},
		"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 3) SELECT count(*) FROM c": {
			{int64(3)},
		},
	} {
		got, err := ask(t, path, statement)
		if err != nil {
			t.Errorf("%s: %v", statement, err)
			continue
		}
		if d := cmp.Diff(want, got.Rows); d != "" {
			t.Errorf("%s: -want +got:\n%s", statement, d)
		}
	}
}

// TestStatementRefused: other tables, changes and settings are refused, also by a table of a WITH clause
// with the name of a view. The archive stays the same.
func TestStatementRefused(t *testing.T) {
	path := archive(t)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"SELECT * FROM traces",
		"SELECT data FROM main.parts",
		"SELECT count(*) FROM parts",
		"SELECT count(*) FROM main.parts",
		"WITH v_spans AS (SELECT data FROM parts) SELECT * FROM v_spans",
		"WITH v_spans AS (SELECT data FROM parts), x AS (SELECT * FROM v_spans) SELECT data FROM x",
		"SELECT (SELECT hex(data) FROM parts LIMIT 1) FROM v_traces",
		"SELECT name FROM v_traces WHERE EXISTS (SELECT 1 FROM parts AS v_spans WHERE length(v_spans.data) > 0)",
		"SELECT v_traces.id FROM traces AS v_traces",
		"SELECT sql FROM sqlite_schema",
		"SELECT name FROM sqlite_temp_schema",
		"SELECT count(*) FROM sqlite_master",
		"SELECT * FROM pragma_table_info('spans')",
		"SELECT * FROM pragma_table_list",
		"PRAGMA query_only = 0",
		"PRAGMA journal_mode = DELETE",
		"ATTACH 'x.db' AS x",
		"DELETE FROM traces",
		"DELETE FROM v_traces",
		"INSERT INTO meta VALUES ('x', 1)",
		"UPDATE traces SET outcome = 'x'",
		"CREATE TABLE x (y)",
		"CREATE TEMP TABLE x (y)",
		"CREATE TEMP VIEW v_x AS SELECT data FROM parts",
		"DROP VIEW v_traces",
		"VACUUM INTO '/tmp/x.db'",
		"BEGIN IMMEDIATE",
		"REINDEX",
		"ANALYZE",
		"SELECT 1) LIMIT 1; DELETE FROM traces; --",
		"SELECT 1) LIMIT 1; INSERT INTO meta VALUES ('x', 1); --",
		"SELECT 1) LIMIT 1; CREATE TEMP TABLE x AS SELECT * FROM (SELECT data FROM parts",
	} {
		got, err := ask(t, path, statement)
		if !errors.Is(err, sqlite.ErrNotPermitted) {
			t.Errorf("%s: %v %v", statement, err, got)
		}
	}
	after, err := os.ReadFile(path)
	if err != nil || !cmp.Equal(before, after) {
		t.Errorf("the archive changed: %v", err)
	}
	for _, statement := range []string{
		"SELECT", "SELECT absent FROM v_traces", "SELECT * FROM nowhere",
		"SELECT randomblob(1 << 30)",
		"SELECT load_extension('x')", "SELECT 1; DROP TABLE traces", "SELECT 1; SELECT data FROM parts",
		"SELECT 1; ; SELECT 1", "",
	} {
		if _, err := ask(t, path, statement); err == nil {
			t.Errorf("%s: no error", statement)
		}
	}
}

// TestStatementMistaken: the error for an unknown name has the nearest one.
func TestStatementMistaken(t *testing.T) {
	path := archive(t)
	const columns = ": the columns of each view: " + docs.Questions
	for statement, want := range map[string]string{
		"SELECT outcom FROM v_traces":             "no such column: outcom: did you mean outcome?",
		"SELECT status FROM v_spans":              "no such column: status: did you mean outcome?",
		"SELECT t.objekt FROM v_writes AS t":      "no such column: t.objekt: did you mean object?",
		"SELECT phase.pull FROM v_lifecycles":     "no such column: phase.pull: did you mean phase_pull?",
		`SELECT pinnd FROM V_Traces JOIN v_spans`: "no such column: pinnd: did you mean pinned?",
		"SELECT pinnd FROM v_spans":               "no such column: pinnd" + columns,
		"SELECT * FROM v_trace":                   "no such table: v_trace: did you mean v_traces?",
		"SELECT * FROM nowhere": "no such table: nowhere: the views are v_lifecycles, v_traces, v_writes, " +
			"v_spans, v_rollups",
		"SELECT upper(kind), [no (1)] FROM v_spans": "no such column: no (1)" + columns,
	} {
		if _, err := ask(t, path, statement); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", statement, err, want)
		}
	}
}

// TestStatementEnds: the limits of time and rows.
func TestStatementEnds(t *testing.T) {
	path := archive(t)
	const endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
	for _, statement := range []string{
		endless + "SELECT count(*) FROM c",
		endless + "SELECT 0 UNION ALL SELECT count(*) FROM c", // after the first row
	} {
		began := time.Now()
		_, err := sqlite.Statement{Path: path, SQL: statement, Time: 100 * time.Millisecond}.Run(t.Context())
		if took := time.Since(began); !errors.Is(err, store.ErrTooLong) || took > 5*time.Second {
			t.Errorf("%s: %v after %s", statement, err, took)
		}
	}
	got, err := ask(t, path, endless+"SELECT x FROM c")
	if err != nil || len(got.Rows) != sqlite.StatementRows || !got.More {
		t.Errorf("endless rows: %v, %d", err, len(got.Rows))
	}
}

// TestStatementLifecycles reads a lifecycle through its view.
func TestStatementLifecycles(t *testing.T) {
	path := archive(t)
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	execute := func(statement string) {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	execute("DELETE FROM lifecycles")
	execute("INSERT INTO lifecycles (id, trace, object, span, kind, start, duration, phase_pull) " +
		"SELECT 99, num, 0, x'01', 'Pod', start, 5, 2500000000 FROM traces " +
		"WHERE id = x'" + spantest.Apply().ID.String() + "'")
	got, err := ask(t, path, "SELECT kind, phase_pull, trace, images, span FROM v_lifecycles")
	if err != nil {
		t.Fatal(err)
	}
	want := [][]any{{"Pod", 2.5, spantest.Apply().ID.String(), "[]", "01"}}
	if d := cmp.Diff(want, got.Rows); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if _, err := ask(t, path, "SELECT * FROM "+question.Lifecycles); !errors.Is(err, sqlite.ErrNotPermitted) {
		t.Errorf("the table itself: %v", err)
	}
	execute("ALTER TABLE lifecycles DROP COLUMN region")
	if _, err := ask(t, path, "SELECT kind FROM v_lifecycles"); err == nil ||
		!strings.HasPrefix(err.Error(), "the archive is older than the field region:") {
		t.Errorf("an archive without a column: %v", err)
	}
}

// TestStatementFile: errors name the file.
func TestStatementFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.db")
	if _, err := ask(t, path, "SELECT 1"); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("no file: %v", err)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("no database", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ask(t, path, "SELECT 1"); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("another file: %v", err)
	}
}

// TestViews holds the guide to the columns of all views.
func TestViews(t *testing.T) {
	var out strings.Builder
	if err := sqlite.WriteViews(&out); err != nil {
		t.Fatal(err)
	}
	const path = "../../../../docs/guides/questions.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(out.String(), ":")
	before, rest, _ := strings.Cut(string(page), first+":")
	last := strings.LastIndex(rest, "\n| column |")
	table, after, more := strings.Cut(rest[max(last, 0):], "\n\n")
	if more {
		after = "\n" + after
	}
	got := first + ":" + rest[:max(last, 0)] + strings.TrimSuffix(table, "\n") + "\n"
	if *updateViews {
		must(t, os.WriteFile(path, []byte(before+out.String()+after), 0o600))
	} else if d := cmp.Diff(out.String(), got); d != "" {
		t.Errorf("%s (run with -update-views to write it), -want +got:\n%s", path, d)
	}
}
