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
//   - labels["key"], and has() for a phase, its start or end, and for a label
//   - contains, startsWith and endsWith; matches with a literal regular expression
//   - size of images and labels; exists and all over them, not nested
//   - literal duration() and timestamp(), now, and + and - of these and of fields
//
// A missing value is an error of CEL: the lifecycle does not match, also under !. Such an error is
// NULL in SQL. A time outside 64 bits of nanoseconds (1678 to 2262) is an error, too.
//
// A Length is an expression of the same language with a duration as its result, and a Text one with a string, for
// statistics. A Number orders lists: it has a duration or a whole number. Elements are the values of a list, each for a
// group of its own.
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

// expression is a checked expression. It is safe for concurrent use.
type expression struct {
	text    string
	root    node
	program cel.Program
	uses    map[string]bool
}

// String returns the text.
func (e *expression) String() string { return e.text }

// Uses reports whether the expression uses the field with this name.
func (e *expression) Uses(field string) bool { return e.uses[field] }

// Question is a checked condition. It is safe for concurrent use.
type Question struct{ expression }

// Length is a checked expression with a duration, such as "phase.pull" or
// "ended.readiness - began.pull". It is safe for concurrent use.
type Length struct{ expression }

// Text is a checked expression with a text, such as "namespace" or labels["app"]. It is safe for concurrent use.
type Text struct{ expression }

// Number is a checked expression with a duration or a whole number, such as "phase.pull" or "restarts". It is safe for
// concurrent use.
type Number struct{ expression }

// Type returns Duration or Int.
func (n *Number) Type() Type { return n.root.kind() }

// IsField reports whether the length is a field alone. Others are computed, some from several rows.
func (l *Length) IsField() bool {
	_, is := l.root.(column)
	return is
}

// Parse checks a question. An error is an *Error.
func Parse(text string) (*Question, error) {
	e, err := parse(text, conditionForm)
	if err != nil {
		return nil, err // never a nil *Error in an error
	}
	return &Question{*e}, nil
}

// ParseLength checks an expression with a duration. Its bounds are those of a question. An error is an
// *Error.
func ParseLength(text string) (*Length, error) {
	e, err := parse(text, lengthForm)
	if err != nil {
		return nil, err
	}
	return &Length{*e}, nil
}

// ParseText checks an expression with a text. Its bounds are those of a question. An error is an *Error.
func ParseText(text string) (*Text, error) {
	e, err := parse(text, textForm)
	if err != nil {
		return nil, err
	}
	return &Text{*e}, nil
}

// ParseNumber checks an expression with a duration or a whole number. Its bounds are those of a question. An error is
// an *Error.
func ParseNumber(text string) (*Number, error) {
	e, err := parse(text, numberForm)
	if err != nil {
		return nil, err
	}
	return &Number{*e}, nil
}

// form is the use of an expression.
type form struct {
	// of are the possible types of the result.
	of []Type
	// noun and result name the expression and its result in errors.
	noun, result string
	// example ends the hint for an empty expression.
	example string
	// hint is the way out for a result of another type.
	hint func(Type) string
}

var (
	conditionForm = form{
		of: []Type{Bool}, noun: "question", result: "condition", example: `write a condition, such as kind == "Pod"`,
		hint: func(got Type) string {
			switch got {
			case Duration:
				return `compare it, as in phase.startup > duration("30s")`
			case Timestamp:
				return `compare it, as in began.pull > now - duration("1h")`
			}
			return ""
		},
	}
	lengthForm = form{
		of: []Type{Duration}, noun: "expression", result: "duration", example: lengthHint,
		hint: func(got Type) string {
			if got == Timestamp {
				return "subtract another time, as in " + differenceExample
			}
			return lengthHint
		},
	}
	textForm = form{
		of: []Type{String}, noun: "expression", result: "string", example: textHint,
		hint: func(Type) string { return textHint },
	}
	numberForm = form{
		of: []Type{Duration, Int}, noun: "expression", result: "duration or an int", example: numberHint,
		hint: func(got Type) string {
			if got == Timestamp {
				return "subtract another time, as in now - start"
			}
			return numberHint
		},
	}
)

func parse(text string, f form) (*expression, *Error) {
	switch {
	case len(text) > MaxText:
		return nil, &Error{1, 1, fmt.Sprintf("the %s is longer than %d bytes", f.noun, MaxText), ""}
	case !utf8.ValidString(text):
		return nil, &Error{1, 1, "the " + f.noun + " is not valid UTF-8", ""}
	case strings.TrimSpace(text) == "":
		return nil, &Error{1, 1, "the " + f.noun + " is empty", f.example}
	}
	env, err := environment()
	if err != nil {
		return nil, &Error{1, 1, printable(err.Error()), ""}
	}
	parsed, issues := env.Parse(unreserve(text))
	if all := issues.Errors(); len(all) > 0 {
		return nil, syntaxError(text, f.noun, all[0])
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
	root, fail := b.root(checked.NativeRep().Expr(), f)
	if fail != nil {
		return nil, fail
	}
	program, err := env.Program(checked, cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, &Error{1, 1, printable(err.Error()), ""}
	}
	return &expression{text, root, program, b.uses}, nil
}
