// SPDX-License-Identifier: Apache-2.0

package questiontest_test

import (
	"database/sql"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/ask"
	"github.com/kube-lifeline/lifeline/app/internal/question"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
	"github.com/kube-lifeline/lifeline/app/internal/view/viewtest"
)

// addition is a new field, and what follows from its row.
type addition struct {
	row      question.Field
	question string
	// member is the name in the API, and json its value. column is the value in the view.
	member, json string
	column       any
}

// added are the new fields, one of each type.
var added = []addition{
	{
		question.Field{
			Name: "service_account", Type: question.String, Meaning: "account of the span", Facet: true,
			From: func(s question.Source) any { return "account of " + s.Span.Service },
		},
		`service_account == "account of kubelet"`, "serviceAccount", `"account of kubelet"`, "account of kubelet",
	},
	{
		question.Field{
			Name: "events", Type: question.Int, Meaning: "number of events",
			From: func(s question.Source) any { return int64(len(s.Span.Events)) + 7 },
		},
		`events == 7`, "events", `7`, int64(7),
	},
	{
		question.Field{
			Name: "due", Type: question.Timestamp, Meaning: "one second after the start",
			From: func(s question.Source) any { return s.Span.Start.Add(time.Second).In(time.FixedZone("", 3600)) },
		},
		`due - start == duration("1s")`, "due", `"2026-03-01T12:00:01.09Z"`, "2026-03-01T12:00:01.090Z",
	},
	{
		question.Field{
			Name: "grace", Type: question.Duration, Meaning: "grace of the span",
			From: func(question.Source) any { return 1500 * time.Millisecond },
		},
		`grace > duration("1s")`, "grace", `1.5`, 1.5,
	},
	{
		question.Field{
			Name: "volumes_used", Type: question.List, Meaning: "names of volumes",
			From: func(question.Source) any { return []string{"b", "a", "b"} },
		},
		`volumes_used.exists(v, v.startsWith("a")) && size(volumes_used) == 2`, "volumesUsed", `["a","b"]`, `["a","b"]`,
	},
	{
		question.Field{
			Name: "notes", Type: question.Map, Meaning: "notes of the object",
			From: func(question.Source) any { return map[string]string{"team": "blue"} },
		},
		`notes["team"] == "blue"`, "notes", `{"team":"blue"}`, `{"team":"blue"}`,
	},
}

func TestMain(m *testing.M) {
	for _, a := range added {
		question.Add(a.row)
	}
	goleak.VerifyTestMain(m)
}

var asOf = spantest.Epoch.Add(time.Hour)

// selecting returns the question for the only Pod of spantest.Apply.
func selecting(t *testing.T, text string) store.FindQuery {
	t.Helper()
	q, err := question.Parse(`kind == "Pod" && ` + text)
	if err != nil {
		t.Fatal(err)
	}
	return store.FindQuery{Where: q, Now: asOf}
}

// find returns the only lifecycle that an engine finds.
func find(t *testing.T, from store.Finder, text string) *store.Lifecycle {
	t.Helper()
	page, err := from.Find(t.Context(), selecting(t, text))
	if err != nil || len(page.Lifecycles) != 1 {
		t.Fatalf("%s: %d lifecycles, %v", text, len(page.Lifecycles), err)
	}
	return &page.Lifecycles[0]
}

// TestNewField: a row is all that a field needs in memory, in an archive that is older than the row, in SQL, in the
// API, in completion and in the documents.
func TestNewField(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lifeline.db")
	withoutNewFields(t, path)
	archive, err := sqlite.Open(t.Context(), store.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	batch := &store.Batch{Revision: 1, AsOf: asOf, Finished: []*span.Trace{spantest.Apply()}}
	if err := archive.Write(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	open := viewtest.New(t)
	open.Put(t, asOf, viewtest.Traces{Open: []*span.Trace{spantest.Apply()}})
	server := served(t, open)
	var fields, views strings.Builder
	if err := question.WriteFields(&fields); err != nil {
		t.Fatal(err)
	}
	if err := sqlite.WriteViews(&views); err != nil {
		t.Fatal(err)
	}
	for _, a := range added {
		t.Run(a.row.Name, func(t *testing.T) {
			inMemory, stored := find(t, open, a.question), find(t, archive, a.question)
			if d := cmp.Diff(inMemory.Values, stored.Values); d != "" || inMemory.Values[a.row.Name] == nil {
				t.Errorf("-in memory +in the archive:\n%s", d)
			}
			result, err := sqlite.Statement{
				Path: path, SQL: "SELECT " + a.row.Name + " FROM v_lifecycles WHERE kind = 'Pod'",
			}.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff([][]any{{a.column}}, result.Rows); d != "" {
				t.Errorf("SQL: -want +got:\n%s", d)
			}
			var page struct{ Lifecycles []map[string]json.RawMessage }
			server(t, "lifecycles?where="+url.QueryEscape(`kind == "Pod" && `+a.question), &page)
			if got := string(page.Lifecycles[0][a.member]); got != a.json {
				t.Errorf("the API has %s, want %s", got, a.json)
			}
			if words := ask.QuestionWords(a.row.Name[:3]); !slices.Contains(words, a.row.Name+"\t"+a.row.Meaning) {
				t.Errorf("completion: %q", words)
			}
			if !strings.Contains(fields.String(), "| `"+a.row.Name+"` | "+a.row.Type.String()+" | "+a.row.Meaning) {
				t.Error("no line in the table of fields")
			}
			if !strings.Contains(views.String(), "| `"+a.row.Name+"` | "+a.row.Meaning) {
				t.Error("no line in the table of views")
			}
		})
	}
	var known api.Fields
	server(t, "fields", &known)
	for i, f := range known.Fields[len(known.Fields)-len(added):] {
		row := added[i].row
		want := api.Field{
			Name: row.Name, Type: row.Type.String(), Optional: f.Optional, Meaning: row.Meaning, Facet: row.Facet,
		}
		if d := cmp.Diff(want, f); d != "" {
			t.Errorf("/fields: -want +got:\n%s", d)
		}
	}
}

// TestLifecycleJSON: a client writes what a server sent.
func TestLifecycleJSON(t *testing.T) {
	open := viewtest.New(t)
	open.Put(t, asOf, viewtest.Traces{Open: []*span.Trace{spantest.Apply()}})
	var page api.LifecyclePage
	var sent struct{ Lifecycles []json.RawMessage }
	get := served(t, open)
	for _, to := range []any{&page, &sent} {
		get(t, "lifecycles?where="+url.QueryEscape(`kind == "Pod"`), to)
	}
	read, err := json.Marshal(page.Lifecycles[0])
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(sent.Lifecycles[0]), string(read)); d != "" {
		t.Errorf("-sent +read:\n%s", d)
	}
}

// withoutNewFields makes an archive as a program without the new fields, and without a phase, has it.
func withoutNewFields(t *testing.T, path string) {
	t.Helper()
	archive, err := sqlite.Open(t.Context(), store.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for _, f := range question.Fields() {
		isNew := func(a addition) bool { return a.row.Name == f.Name }
		if f.Name != "phase.pull" && !slices.ContainsFunc(added, isNew) {
			continue
		}
		statement := "ALTER TABLE lifecycles DROP COLUMN " + f.Column
		if f.Table != question.Lifecycles {
			statement = "DROP TABLE " + f.Table
		}
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

// served returns a function that reads an answer of the API.
func served(t *testing.T, from *viewtest.View) func(t *testing.T, path string, to any) {
	t.Helper()
	handler, err := api.New(api.Options{Access: from.Access, Clock: func() time.Time { return asOf }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = handler.Close() })
	return func(t *testing.T, path string, to any) {
		t.Helper()
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/"+path, nil))
		if answer.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", path, answer.Code, answer.Body)
		}
		if err := json.Unmarshal(answer.Body.Bytes(), to); err != nil {
			t.Fatal(err)
		}
	}
}
