// SPDX-License-Identifier: Apache-2.0

// Package question answers questions about lifecycles. A question is a condition in CEL, such as
//
//	kind == "Pod" && phase.startup > duration("30s") && images.exists(i, i.contains("nginx"))
//
// Fields lists what a question may use. Parse checks a question: with CEL first, then against the
// supported part of CEL.
//
// A question is evaluated in two ways with the same result. Matches evaluates it with CEL on a
// Lifecycle in memory. Condition compiles it to SQL for an archive. The statements, their limits and
// the namespaces that a caller may read are left to the archive.
//
// # The supported part of CEL
//
//   - comparisons, also of times and durations; && || ! and ?:
//   - in, for a literal list, images, and the keys of labels
//   - labels["key"], and has() for a phase and for a label
//   - contains, startsWith and endsWith; matches with a literal regular expression
//   - size of images and labels; exists and all over them, not nested
//   - literal duration() and timestamp(), now, and + and - of these and of fields
//
// A missing value is an error of CEL: the lifecycle does not match, also under !. Such an error is
// NULL in SQL. A time outside 64 bits of nanoseconds (1678 to 2262) is an error, too.
//
// # Another engine
//
// Implement Dialect in a room of its own, as question/sqlite does, and pass the suite of
// questiontest. It compares both evaluations of random questions. Nothing here changes, unless the
// engine needs another method of Dialect.
package question

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
)

// Question is a checked question. It is safe for concurrent use.
type Question struct {
	text    string
	root    node
	program cel.Program
	uses    map[string]bool
}

// String returns the text of the question.
func (q *Question) String() string { return q.text }

// Uses reports whether the question uses the field with this name.
func (q *Question) Uses(field string) bool { return q.uses[field] }

// Parse checks a question. An error is an *Error.
func Parse(text string) (*Question, error) {
	q, err := parse(text)
	if err != nil {
		return nil, err // never a nil *Error in an error
	}
	return q, nil
}

func parse(text string) (*Question, *Error) {
	switch {
	case len(text) > MaxText:
		return nil, &Error{1, 1, fmt.Sprintf("the question is longer than %d bytes", MaxText), ""}
	case !utf8.ValidString(text):
		return nil, &Error{1, 1, "the question is not valid UTF-8", ""}
	case strings.TrimSpace(text) == "":
		return nil, &Error{1, 1, "the question is empty", `write a condition, such as kind == "Pod"`}
	}
	env, err := environment()
	if err != nil {
		return nil, &Error{1, 1, printable(err.Error()), ""}
	}
	parsed, issues := env.Parse(unreserve(text))
	if all := issues.Errors(); len(all) > 0 {
		return nil, syntaxError(text, all[0])
	}
	tree := parsed.NativeRep()
	if err := (&scope{info: tree.SourceInfo()}).check(tree.Expr(), ""); err != nil {
		return nil, err
	}
	checked, issues := env.Check(parsed)
	if all := issues.Errors(); len(all) > 0 {
		return nil, typeError(tree, all[0])
	}
	b := builder{info: checked.NativeRep().SourceInfo(), uses: map[string]bool{}}
	root, fail := b.condition(checked.NativeRep().Expr())
	if fail != nil {
		return nil, fail
	}
	program, err := env.Program(checked, cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, &Error{1, 1, printable(err.Error()), ""}
	}
	return &Question{text, root, program, b.uses}, nil
}
