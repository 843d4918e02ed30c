// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/question"
	"github.com/kube-lifeline/lifeline/app/internal/question/questiontest"
	"github.com/kube-lifeline/lifeline/app/internal/question/sqlite"
)

// condition compiles a question.
func condition(tb testing.TB, text string) question.Condition {
	tb.Helper()
	q, err := question.Parse(text)
	if err != nil {
		tb.Fatalf("%v\n%s", err, text)
	}
	return q.Condition(sqlite.Dialect{}, questiontest.Now, 1)
}

// TestIndexes: frequent questions search an index.
func TestIndexes(t *testing.T) {
	db := open(t)
	for text, want := range map[string]string{
		`kind == "Pod" && phase.startup > duration("30s") && volumes > 2`: "lifecycles_kind (kind=?)",
		`kind == "Pod" && start > now - duration("24h")`:                  "lifecycles_kind (kind=? AND start>?)",
		`namespace == "shop" && start > now - duration("24h")`:            "_namespace (namespace=? AND start>?)",
		`name == "web"`:            "objects_name (name=?)",
		`uid == "a" || uid == "b"`: "objects_uid (uid=?)",
		`uid in ["a", "b"]`:        "objects_uid (uid=?)",
		`"nginx:1.29" in images`:   "PRIMARY KEY (lifecycle=? AND element=?)",
	} {
		c := condition(t, text)
		var plan strings.Builder
		query(
			t,
			db,
			"EXPLAIN QUERY PLAN SELECT l.id FROM "+sqlite.From(c.SQL)+" WHERE "+c.SQL+" ORDER BY l.start DESC",
			c.Args,
			func(scan func(...any) error) error {
				var id, parent, unused int
				var detail string
				err := scan(&id, &parent, &unused, &detail)
				plan.WriteString(detail + "\n")
				return err
			},
		)
		if !strings.Contains(plan.String(), want) {
			t.Errorf("%s: want %s in\n%s", text, want, plan.String())
		}
	}
}

// TestDeep: nested and long questions give SQL that SQLite accepts, and of bounded length.
func TestDeep(t *testing.T) {
	db := open(t)
	for name, text := range map[string]string{
		"not":       strings.Repeat("!", 41) + "has(phase.pull)",
		"not (":     strings.Repeat("!(", 20) + "has(phase.pull)" + strings.Repeat(")", 20),
		"condition": strings.Repeat("(", 20) + "has(phase.pull)" + strings.Repeat(" ? true : false)", 20),
		"else":      strings.Repeat("volumes == 1 ? true : ", 20) + "false",
		"sum":       "start" + strings.Repeat(" + duration", 44) + " > now",
		"sums":      "duration" + strings.Repeat(" - (duration", 15) + strings.Repeat(")", 15) + " == duration",
		"or":        strings.Repeat("volumes == 1 || ", 60) + "true",
		"keys":      strings.Repeat("labels[", 6) + `"a"` + strings.Repeat("]", 6) + ` == "b"`,
		"in keys":   "images.exists(i, " + strings.Repeat("labels[", 4) + "i" + strings.Repeat("]", 4) + " in labels)",
		"in in": strings.Repeat("(labels.a != (", 5) + "name" +
			strings.Repeat(` in labels ? labels.a : "b") ? "a" : "b")`, 5) + ` == "b"`,
		"texts": strings.Repeat("(name.endsWith(", 10) + "name" + strings.Repeat(`) ? "a" : "b")`, 10) + ` == "b"`,
		"list":  "volumes in [1" + strings.Repeat(", 1", 250) + "]",
		"steps": "start < ended.run" + strings.Repeat(" - (ended.terminate - end)", 21),
		"has":   strings.Repeat("has(ended.terminate) || ", 84) + "false",
	} {
		c := condition(t, text)
		checkSQL(t, c)
		if len(c.SQL) > 100*question.MaxNodes {
			t.Errorf("%s: %d bytes of SQL", name, len(c.SQL))
		}
		query(
			t,
			db,
			"SELECT l.id FROM "+sqlite.From(c.SQL)+" WHERE "+c.SQL,
			c.Args,
			func(func(...any) error) error { return nil },
		)
	}
}

// TestFirst: a condition may follow other parameters.
func TestFirst(t *testing.T) {
	q, err := question.Parse(`kind == "Pod" && volumes > 2`)
	if err != nil {
		t.Fatal(err)
	}
	const want = "((l.kind = ?3) AND (l.volumes > ?4))"
	if c := q.Condition(sqlite.Dialect{}, questiontest.Now, 3); c.SQL != want {
		t.Errorf("%s, want %s", c.SQL, want)
	}
}

// TestQuantiles compares the registered aggregate with known quantiles.
func TestQuantiles(t *testing.T) {
	db := open(t)
	execute(t, db, "CREATE TABLE numbers (n INTEGER)")
	quantiles := func(fractions string) (got any, err error) {
		err = db.QueryRowContext(t.Context(), "SELECT "+sqlite.Dialect{}.Quantiles("n", "?1")+" FROM numbers",
			fractions).Scan(&got)
		return got, err
	}
	if got, err := quantiles("[0.5]"); got != nil || err != nil {
		t.Errorf("%v, %v without values, want NULL", got, err)
	}
	for _, n := range rand.New(rand.NewPCG(1, 1)).Perm(100) {
		execute(t, db, "INSERT INTO numbers VALUES (?), (NULL)", n+1)
	}
	if got, err := quantiles("[0, 0.5, 0.95, 0.99, 1]"); got != "[1,50,95,99,100]" || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range []string{"", "x", "[2]", "[-0.1]", "{}"} {
		if got, err := quantiles(bad); err == nil {
			t.Errorf("%q: got %v", bad, got)
		}
	}
}

// BenchmarkFind asks 20,000 lifecycles.
func BenchmarkFind(b *testing.B) {
	db := open(b)
	execute(b, db, "WITH n (i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i < 19999)"+
		" INSERT INTO lifecycles (id, trace, object, span, kind, start, duration, phase_startup, volumes)"+
		" SELECT i, i, 1, x'00', 'Pod', i, i, i * 1000000, i % 5 FROM n")
	execute(b, db, "INSERT INTO objects (trace, num, name) SELECT trace, 1, 'web-' || id FROM lifecycles")
	execute(b, db, "INSERT INTO lifecycle_images SELECT id, 'nginx:' || id % 7 FROM lifecycles")
	for name, text := range map[string]string{
		"column":  `kind == "Pod" && phase.startup > duration("30s") && volumes > 2`,
		"images":  `images.exists(i, i.contains("nginx:3"))`,
		"missing": `images.exists(i, i == labels["app"])`,
		"matches": `name.matches("^web-[0-9]*7$")`,
		"sum":     `now - start > duration("1h")`,
	} {
		c := condition(b, text)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				query(
					b,
					db,
					"SELECT count(*) FROM "+sqlite.From(c.SQL)+" WHERE "+c.SQL,
					c.Args,
					func(scan func(...any) error) error {
						var n int
						return scan(&n)
					},
				)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/20_000, "ns/row")
		})
	}
}

// BenchmarkMatches evaluates in memory.
func BenchmarkMatches(b *testing.B) {
	q, err := question.Parse(
		`kind == "Pod" && phase.startup > duration("30s") && images.exists(i, i.contains("nginx"))`,
	)
	if err != nil {
		b.Fatal(err)
	}
	l := &question.Lifecycle{Values: map[string]any{"images": []string{"a", "nginx:" + strconv.Itoa(1)}}}
	l.Object.Kind.Kind = "Pod"
	l.Phases = map[string]time.Duration{"startup": time.Minute}
	for b.Loop() {
		if !q.Matches(l, questiontest.Now) {
			b.Fatal("no match")
		}
	}
}
