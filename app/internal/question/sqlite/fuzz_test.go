// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/question"
	"github.com/kube-lifeline/lifeline/app/internal/question/questiontest"
	"github.com/kube-lifeline/lifeline/app/internal/question/sqlite"
)

// token matches a token of SQL. It has no comments or semicolons. A text has small letters only.
var token = regexp.MustCompile(`^(?:\?[0-9]+|'[a-z]*'|[A-Za-z_]+(?:\.[a-z_]+)?|[0-9]+|<>|<=|>=|[=<>(),*+]| )`)

// known has the words of the dialect and of the compiler. Columns and tables come from the fields.
var known = func() map[string]bool {
	out := map[string]bool{}
	for word := range strings.FieldsSeq(`
		SELECT FROM AS WHERE EXISTS NOT AND OR IN IS NULL CASE WHEN THEN ELSE END instr count max min lower hex typeof
		+ '' 'integer' m.steps
		lifeline_ends_with lifeline_matches lifeline_plus lifeline_minus lifeline_step_began lifeline_step_ended
		l m el v x l.id l.trace m.id m.num m.value m.lifecycle el.lifecycle v.x traces`) {
		out[word] = true
	}
	for _, f := range question.Fields() {
		out[f.Table], out["'"+f.Phase+"'"] = true, true
		for _, alias := range []string{"l.", "o.", "m.", "el."} {
			out[alias+f.Column] = true
		}
	}
	return out
}()

// checkSQL fails if the SQL has anything but known words, signs, 0, 1 and parameters.
func checkSQL(tb testing.TB, c question.Condition) {
	tb.Helper()
	params := 0
	for rest := c.SQL; rest != ""; {
		found := token.FindString(rest)
		if found == "" {
			tb.Fatalf("unknown text in the SQL: %q", rest)
		}
		rest = rest[len(found):]
		switch first := found[0]; {
		case first == '?':
			params++
			if found != "?"+strconv.Itoa(params) {
				tb.Fatalf("parameter %s is number %d: %s", found, params, c.SQL)
			}
		case first >= '0' && first <= '9':
			if found != "0" && found != "1" {
				tb.Fatalf("number %s in the SQL: %s", found, c.SQL)
			}
		case first >= 'A' && first <= 'Z', first >= 'a' && first <= 'z', first == '_', first == '\'', first == '+':
			if !known[found] {
				tb.Fatalf("unknown word %q in the SQL: %s", found, c.SQL)
			}
		}
	}
	if params != len(c.Args) {
		tb.Fatalf("%d parameters and %d values: %s", params, len(c.Args), c.SQL)
	}
}

// FuzzSQL: the SQL of any question has known words only and a bounded length. SQLite accepts it, and
// has the answers of CEL.
func FuzzSQL(f *testing.F) {
	for _, text := range []string{
		`kind == "' OR 1=1 --"`,
		`labels["a') UNION SELECT"] == "\"; DROP TABLE traces"`,
		`images.exists(i, i.matches("'"))`,
		`labels.exists(lifeline_plus, lifeline_plus == labels[lifeline_plus])`,
		`"x" in labels ? has(labels.traces) : true`,
		`images.all(el, el in images || labels[el] in labels)`,
		`now - start > duration("1h") && phase.pull in [duration("1s")]`,
		`kind in ['''"''', r'\', "\u0027"]`,
		`size(images) == -1`,
		`timestamp("2026-01-01T00:00:00Z") + duration == now`,
		`kind == "Pod" && ended.readiness - began.pull > duration("20s")`,
		`has(began.pull) && !has(ended.run) ? end - ended.pull > phase.pull : end == began.backoff + duration`,
		`images.exists(began, began == "'pull'") || ended.terminate in [timestamp("2026-11-26T12:00:00Z")]`,
	} {
		f.Add(text)
	}
	rows := questiontest.Rows(rand.New(rand.NewPCG(1, 1)), 16)
	e := &engine{db: open(f)}
	e.Store(f, rows)
	f.Fuzz(func(t *testing.T, text string) {
		q, err := question.Parse(text)
		if err != nil {
			return
		}
		c := q.Condition(sqlite.Dialect{}, questiontest.Now, 1)
		checkSQL(t, c)
		if len(c.SQL) > question.MaxNodes*256 {
			t.Fatalf("%d bytes of SQL for %s", len(c.SQL), text)
		}
		questiontest.Compare(t, e, q, rows)
	})
}

// FuzzLength: the same for lengths.
func FuzzLength(f *testing.F) {
	for _, text := range []string{
		"duration", "phase.pull", "ended.readiness - began.pull", "end - ended.pull + (phase.pull - phase.init)",
		`kind == "' OR 1=1 --" ? duration("1s") : now - start`,
		`labels.exists(ended, ended == kind) ? end - start : began.start - start - duration("-1ns")`,
	} {
		f.Add(text)
	}
	rows := questiontest.Rows(rand.New(rand.NewPCG(2, 1)), 16)
	e := &engine{db: open(f)}
	e.Store(f, rows)
	f.Fuzz(func(t *testing.T, text string) {
		number, err := question.ParseNumber(text)
		if err != nil {
			return
		}
		of, args := number.Operand(sqlite.Dialect{}, questiontest.Now, 1)
		checkSQL(t, question.Condition{SQL: of.SQL, Args: args})
		if len(of.SQL) > question.MaxNodes*256 {
			t.Fatalf("%d bytes of SQL for %s", len(of.SQL), text)
		}
		questiontest.CompareNumber(t, e, number, rows)
	})
}

// forms are questions with places for constants: %s a string, %n a number, %d a duration.
var forms = []string{
	`kind == %s && volumes > %n && phase.pull < duration(%d)`,
	`labels[%s] == %s || %s in labels || %s in images || name in [%s, %s]`,
	`images.exists(i, i.contains(%s) || i.startsWith(%s)) && !labels.all(k, labels[k].endsWith(%s))`,
	`now - duration(%d) < start + (duration(%d) + duration(%d)) || size(images) in [%n, %n]`,
	`ended.readiness - began.pull > duration(%d) && end < now - duration(%d) && has(began.init) && kind == %s`,
	`(volumes == %n ? %s : labels[%s]) == %s ? duration(%d) > duration : %s < %s`,
}

// FuzzConstants: constants never change the SQL.
func FuzzConstants(f *testing.F) {
	f.Add("' OR 1=1 --", "?1", int64(3), int64(5e9))
	f.Add("", "\x00", int64(-1), int64(1)<<62)
	f.Add("\xff\\\"\n", "日本", int64(1)<<62, int64(-1))
	f.Fuzz(func(t *testing.T, a, b string, n, d int64) {
		for _, form := range forms {
			constants := []string{a, b}
			next := 0
			fill := func(text func() string, number, length int64) string {
				var out strings.Builder
				for i := 0; i < len(form); i++ {
					if form[i] != '%' {
						out.WriteByte(form[i])
						continue
					}
					i++
					switch form[i] {
					case 's':
						out.WriteString(strconv.Quote(text()))
					case 'n':
						out.WriteString(strconv.FormatInt(number, 10))
					case 'd':
						out.WriteString(strconv.Quote(strconv.FormatInt(length, 10) + "ns"))
					}
				}
				return out.String()
			}
			plain := fill(func() string { return "a" }, 1, 1)
			hostile := fill(func() string { next++; return constants[next%2] }, n, d)
			if len(hostile) > question.MaxText {
				return
			}
			want, err := question.Parse(plain)
			if err != nil {
				t.Fatal(err)
			}
			got, err := question.Parse(hostile)
			if err != nil {
				t.Fatalf("%v\n%s", err, hostile)
			}
			x := want.Condition(sqlite.Dialect{}, questiontest.Now, 1)
			y := got.Condition(sqlite.Dialect{}, questiontest.Now, 1)
			if x.SQL != y.SQL {
				t.Fatalf("constants change the SQL:\n%s\n%s", x.SQL, y.SQL)
			}
			checkSQL(t, y)
		}
	})
}
