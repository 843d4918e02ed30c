// SPDX-License-Identifier: Apache-2.0

package question

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	celtypes "cel.dev/cel-go/common/types"
)

// syntaxError translates an error of CEL's parser.
func syntaxError(text string, from *cel.Error) *Error {
	line, column := max(from.Location.Line(), 1), max(from.Location.Column()+1, 1)
	rest := ""
	if lines := strings.Split(text, "\n"); line <= len(lines) {
		if runes := []rune(lines[line-1]); column <= len(runes) {
			rest = string(runes[column-1:])
		}
	}
	message := strings.TrimPrefix(from.Message, "Syntax error: ")
	at := func(detail, hint string) *Error { return &Error{line, column, printable(detail), hint} }
	word := firstWord(rest)
	switch {
	case strings.HasPrefix(message, "reserved identifier: "):
		return at(strings.TrimPrefix(message, "reserved identifier: ")+" is a reserved word of CEL", "")
	case strings.Contains(message, "must be a simple name"):
		return at("the first argument of exists and all is a variable", wayOut(operators.Exists))
	case strings.Contains(message, "invalid int literal"):
		return at("this is not a whole number of 64 bits", "")
	case strings.Contains(message, "invalid argument to has"):
		return at("has() needs a phase or a label", wayOut(operators.Has))
	case strings.Contains(message, "recursion"):
		return at("the question is nested too deeply", "")
	case strings.Contains(message, "expression code point size exceeds limit"):
		return at("the question is too long", "")
	case strings.HasPrefix(rest, "="):
		return at("unexpected =", "to compare, write ==")
	case strings.HasPrefix(rest, "&"):
		return at("unexpected &", "write &&")
	case strings.HasPrefix(rest, "|"):
		return at("unexpected |", "write ||")
	case strings.EqualFold(word, "and"):
		return at("unexpected "+word, "write &&")
	case strings.EqualFold(word, "or"):
		return at("unexpected "+word, "write ||")
	case strings.EqualFold(word, "like"):
		return at("unexpected "+word, `write name.contains("web"), startsWith, endsWith or matches`)
	case strings.HasPrefix(rest, "“"), strings.HasPrefix(rest, "”"), strings.HasPrefix(rest, "‘"),
		strings.HasPrefix(rest, "`"):
		return at("unexpected quote", `strings have straight quotes, as in "Pod"`)
	case rest != "" && isQuote(rest[0]) && strings.HasPrefix(message, "token recognition"):
		return at("this string has no end", "")
	case rest == "" && strings.Contains(message, "missing ')'"):
		return at("the question ends too early", "a ) is missing")
	case rest == "":
		return at("the question ends too early", "")
	case strings.HasPrefix(message, "missing"), strings.HasPrefix(message, "extraneous"),
		strings.HasPrefix(message, "mismatched"), strings.HasPrefix(message, "token recognition"),
		strings.HasPrefix(message, "no viable"):
		if unit.MatchString(rest) && column > 1 {
			return at("unexpected "+word, "a length of time is written "+durationExample)
		}
		if negated.MatchString(strings.TrimSuffix(text, rest)) {
			return at("unexpected "+word, "write ! before a condition, and not the word")
		}
		return at("unexpected "+word, "")
	}
	return at(message, "")
}

// firstWord returns the name or the number at the beginning of text, or its first character.
func firstWord(text string) string {
	if n := wordLength(text); n > 0 {
		return text[:n]
	}
	_, n := utf8.DecodeRuneInString(text)
	return text[:n]
}

// unit matches the unit of a number without quotes, as in 30s.
var unit = regexp.MustCompile(`^(ms|[smhd])\b`)

// negated matches the text before an error after the word not.
var negated = regexp.MustCompile(`(?i)\bnot\s*$`)

// mismatch matches CEL's message about an operand of one possible type.
var mismatch = regexp.MustCompile(`^expected type '(.+)' but found '(.+)'$`)

// overload matches CEL's message about the types of an operator or a function.
var overload = regexp.MustCompile(`^found no matching overload for '(.+)' applied to '(.+)'$`)

// typeError translates an error of CEL's type checker.
func typeError(tree *ast.AST, from *cel.Error) *Error {
	e := find(tree.Expr(), from.ExprID)
	message := printable(from.Message)
	if e == nil {
		return &Error{max(from.Location.Line(), 1), max(from.Location.Column()+1, 1), message, ""}
	}
	if m := mismatch.FindStringSubmatch(from.Message); m != nil {
		return fault(tree.SourceInfo(), e, "this must be a "+m[1]+", not a "+m[2], "")
	}
	m := overload.FindStringSubmatch(from.Message)
	if m == nil || e.Kind() != ast.CallKind {
		return fault(tree.SourceInfo(), e, message, "")
	}
	name, applied := m[1], strings.TrimSuffix(m[2], ")")
	if plain, is := strings.CutPrefix(applied, "("); is {
		applied = plain
	} else {
		applied = strings.Replace(applied, ".(", ", ", 1) // a method
	}
	a, b := pair(applied)
	detail, hint := unsupported(name)+" for "+applied, ""
	switch {
	case comparisonSigns[name] != "":
		detail = "cannot compare " + a + " with " + b
		if a == b {
			detail = a + " has no comparison " + operatorSigns[name]
		}
		hint = comparisonHint(e.AsCall().Args(), a, b)
	case name == operators.LogicalAnd, name == operators.LogicalOr, name == operators.LogicalNot:
		detail = operatorSigns[name] + " needs conditions, not " + applied
	case name == operators.Conditional:
		detail = "?: needs a condition and two values of one type, not " + applied
	case name == operators.In:
		detail = "cannot search " + a + " in " + b
		hint = `write kind in ["Pod", "Job"], or "nginx:1.29" in images`
	case name == operators.Add, name == operators.Subtract:
		hint = wayOut(name)
	case isTextTest(name):
		detail = name + " is for strings, not for " + applied
		if strings.HasPrefix(a, "list") {
			hint = collectionHint(byName["images"])
		}
	case name == overloads.TypeConvertDuration:
		hint = "write " + durationExample
	case name == overloads.TypeConvertTimestamp:
		hint = "write " + timestampExample
	}
	return fault(tree.SourceInfo(), e, detail, hint)
}

// comparisonHint returns a way to compare values of the types a and b.
func comparisonHint(args []ast.Expr, a, b string) string {
	literal := ast.Expr(nil)
	for _, arg := range args {
		if isLiteral(arg) {
			literal = arg
		}
	}
	has := func(x, y string) bool { return a == x && b == y || a == y && b == x }
	switch {
	case has("duration", "int"), has("duration", "double"):
		return "a length of time is written " + durationExample
	case has("duration", "string"):
		if text := value(
			literal,
		); celtypes.String(
			text,
		).ConvertToType(
			celtypes.DurationType,
		).Type() == celtypes.DurationType {
			return `write duration("` + text + `")`
		}
		return "a length of time is written " + durationExample
	case has("timestamp", "string"), has("timestamp", "int"):
		return `write now - duration("1h"), or ` + timestampExample
	case has("timestamp", "duration"):
		return `a time is written now - duration("1h")`
	case has("int", "double"), has("int", "uint"):
		return "write a whole number without suffix, such as 2"
	case has("int", "string"):
		return "write a number without quotes, and a string with them"
	case has("list(string)", "string"):
		return collectionHint(byName["images"])
	case has("map(string, string)", "string"):
		return collectionHint(byName["labels"])
	case strings.HasPrefix(b, "null"), strings.HasPrefix(a, "null"):
		return missingHint
	}
	return ""
}

// value returns the text of a literal string, or "".
func value(e ast.Expr) string {
	if e == nil || !isLiteral(e) {
		return ""
	}
	text, _ := e.AsLiteral().(celtypes.String)
	return string(text)
}

// pair divides a list of two types at the comma outside of parentheses.
func pair(types string) (a, b string) {
	depth := 0
	for i, r := range types {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				return types[:i], strings.TrimSpace(types[i+1:])
			}
		}
	}
	return types, ""
}

// find returns the expression with an ID, or nil.
func find(root ast.Expr, id int64) ast.Expr {
	var found ast.Expr
	ast.PreOrderVisit(root, ast.NewExprVisitor(func(e ast.Expr) {
		if e.ID() == id {
			found = e
		}
	}))
	return found
}
