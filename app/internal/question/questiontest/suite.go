// SPDX-License-Identifier: Apache-2.0

// Package questiontest is the test suite of every dialect of package question. It stores random
// lifecycles, and compares the answers of the engine with those of CEL.
package questiontest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/question"
)

// Engine is an engine under test.
type Engine interface {
	question.Dialect
	// Store replaces all stored lifecycles. The ID of each is its index.
	Store(t *testing.T, rows []*question.Lifecycle)
	// Values returns the value of the condition for each lifecycle, nil for NULL.
	Values(t *testing.T, c question.Condition) []*bool
	// Matching returns the IDs of the lifecycles that match, in order.
	Matching(t *testing.T, c question.Condition) []int
}

const (
	// rowsAtOnce is the number of lifecycles that each question is asked about, and questionsAtOnce
	// the number of questions until there are others.
	rowsAtOnce, questionsAtOnce = 48, 250
	maxDepth                    = 6
)

// Run compares the answers to n random questions. The seed chooses them.
func Run(t *testing.T, e Engine, seed uint64, n int) {
	r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a repeatable test
	var rows []*question.Lifecycle
	var asked, refused, yes, no, missing, mixed int
	for i := range n {
		if i%questionsAtOnce == 0 {
			rows = Rows(r, rowsAtOnce)
			e.Store(t, rows)
		}
		text := Expression(r, 1+r.IntN(maxDepth))
		q, err := question.Parse(text)
		if err != nil {
			if refused++; len(text) < 500 { // longer ones may exceed the bounds
				t.Fatalf("question %d of seed %d is refused: %v\n%s", i, seed, err, text)
			}
			continue
		}
		asked++
		c := q.Condition(e, Now, 1)
		values, matching := e.Values(t, c), e.Matching(t, c)
		var want []int
		kinds := map[string]bool{}
		for j, l := range rows {
			answer := "false"
			switch is, err := q.Eval(l, Now); {
			case err != nil:
				answer = "missing"
				missing++
			case is:
				answer = "true"
				want = append(want, j)
				yes++
			default:
				no++
			}
			kinds[answer] = true
			if got := name(values[j]); got != answer {
				t.Fatalf("question %d of seed %d, row %d: CEL has %s, the engine %s\n%s\n%s\n%q\n%+v",
					i, seed, j, answer, got, text, c.SQL, c.Args, *l)
			}
		}
		if len(kinds) > 1 {
			mixed++
		}
		if !slices.Equal(matching, want) {
			t.Fatalf("question %d of seed %d: CEL matches %v, the engine %v\n%s\n%s\n%q",
				i, seed, want, matching, text, c.SQL, c.Args)
		}
	}
	t.Logf("%d questions, %d with several answers, %d refused; answers: %d true, %d false, %d missing",
		asked, mixed, refused, yes, no, missing)
	if refused > n/20 || mixed < asked/4 {
		t.Error("too few questions distinguish lifecycles")
	}
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
