// SPDX-License-Identifier: Apache-2.0

// Package questiontest is the test suite of every dialect of package question. It stores random
// lifecycles, and compares the answers of the engine with those of CEL.
package questiontest

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/question"
)

// Engine is an engine under test.
type Engine interface {
	question.Dialect
	// Store replaces all stored lifecycles. The ID of each is its index.
	Store(tb testing.TB, rows []*question.Lifecycle)
	// Values returns the value of the condition for each lifecycle, nil for NULL.
	Values(tb testing.TB, c question.Condition) []*bool
	// Matching returns the IDs of the lifecycles that match, in order.
	Matching(tb testing.TB, c question.Condition) []int
	// Numbers returns the value of a number for each lifecycle, nil for NULL.
	Numbers(tb testing.TB, of question.Operand, args []any) []*int64
}

const (
	// rowsAtOnce is the number of lifecycles that each question is asked about, and questionsAtOnce
	// the number of questions until there are others.
	rowsAtOnce, questionsAtOnce = 48, 250
	maxDepth                    = 6
)

// Run compares the answers to n random questions. The seed chooses them.
func Run(t *testing.T, e Engine, seed uint64, n int) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a repeatable test
	var rows []*question.Lifecycle
	var refused, mixed, some int
	var all Answers
	for i := range n {
		if i%questionsAtOnce == 0 {
			rows = Rows(r, rowsAtOnce)
			e.Store(t, rows)
		}
		text := Number(r, r.IntN(maxDepth))
		if number, err := question.ParseNumber(text); err == nil {
			if CompareNumber(t, e, number, rows) {
				some++
			}
		} else if len(text) < 500 { // longer ones may exceed the bounds
			t.Fatalf("number %d of seed %d is refused: %v\n%s", i, seed, err, text)
		}
		text = Expression(r, 1+r.IntN(maxDepth))
		q, err := question.Parse(text)
		if err != nil {
			if refused++; len(text) < 500 {
				t.Fatalf("question %d of seed %d is refused: %v\n%s", i, seed, err, text)
			}
			continue
		}
		got := Compare(t, e, q, rows)
		if max(got.Yes, got.No, got.Missing) < len(rows) {
			mixed++
		}
		all = Answers{all.Yes + got.Yes, all.No + got.No, all.Missing + got.Missing}
	}
	t.Logf("%d questions, %d with several answers, %d refused; answers: %d true, %d false, %d missing; "+
		"%d numbers that some lifecycles have", n-refused, mixed, refused, all.Yes, all.No, all.Missing, some)
	if refused > n/20 || mixed < n/4 || some < n/4 {
		t.Error("too few questions or numbers distinguish lifecycles")
	}
}

// CompareNumber compares the values of a number by CEL and by the engine. It reports whether some of the
// lifecycles have one.
func CompareNumber(tb testing.TB, e Engine, number *question.Number, rows []*question.Lifecycle) (some bool) {
	tb.Helper()
	of, args := number.Operand(e, Now, 1)
	values := e.Numbers(tb, of, args)
	have := 0
	for i, l := range rows {
		want, is := number.Of(l, Now)
		if is {
			have++
		}
		if got := values[i]; (got != nil) != is || is && *got != want {
			tb.Fatalf("row %d: CEL has %v, %t, the engine %s\n%s\n%s\n%q\n%+v",
				i, want, is, shown(got), number, of.SQL, args, *l)
		}
	}
	return have > 0 && have < len(rows)
}

// Answers counts the answers to a question.
type Answers struct{ Yes, No, Missing int }

// Compare compares the answers of CEL and of the engine about the stored lifecycles, and counts
// them.
func Compare(tb testing.TB, e Engine, q *question.Question, rows []*question.Lifecycle) Answers {
	tb.Helper()
	c := q.Condition(e, Now, 1)
	values, matching := e.Values(tb, c), e.Matching(tb, c)
	var want []int
	var out Answers
	for i, l := range rows {
		var answer *bool
		is, err := q.Eval(l, Now)
		switch {
		case err != nil:
			out.Missing++
		case is:
			out.Yes++
			want = append(want, i)
			answer = &is
		default:
			out.No++
			answer = &is
		}
		if got := name(values[i]); got != name(answer) {
			tb.Fatalf("row %d: CEL has %s, the engine %s\n%s\n%s\n%q\n%+v", i, name(answer), got, q, c.SQL, c.Args, *l)
		}
	}
	if !slices.Equal(matching, want) {
		tb.Fatalf("CEL matches %v, the engine %v\n%s\n%s\n%q", want, matching, q, c.SQL, c.Args)
	}
	return out
}

// shown returns a number, or "none".
func shown(n *int64) string {
	if n == nil {
		return "none"
	}
	return strconv.FormatInt(*n, 10)
}

// name returns the name of an answer.
func name(value *bool) string {
	switch {
	case value == nil:
		return "missing"
	case *value:
		return "true"
	}
	return "false"
}
