// SPDX-License-Identifier: Apache-2.0

package question

import (
	"regexp"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	celtypes "cel.dev/cel-go/common/types"
)

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
	detail, hint, at := unsupported(name)+" for "+applied, "", e
	switch {
	case comparisonSigns[name] != "":
		detail = "cannot compare " + a + " with " + b
		if a == b {
			detail = a + " has no comparison " + operatorSigns[name]
		}
		hint = comparisonHint(e.AsCall().Args(), a, b)
		if literal := literalOf(e.AsCall().Args()); literal != nil && !strings.Contains(a+b, "(") {
			at = literal
		}
	case name == operators.LogicalAnd, name == operators.LogicalOr, name == operators.LogicalNot:
		detail = operatorSigns[name] + " needs conditions, not " + applied
		if name == operators.LogicalNot {
			hint = notHint(tree.Expr(), e)
		}
	case name == operators.Conditional:
		detail = "?: needs a condition and two values of one type, not " + applied
	case name == operators.Index:
		hint = `write labels["app"], with a string`
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
	return fault(tree.SourceInfo(), at, detail, hint)
}

// notHint returns a way to write !kind == "Pod", whose ! is only that of kind, or "".
func notHint(root, not ast.Expr) string {
	hint := ""
	ast.PreOrderVisit(root, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || len(e.AsCall().Args()) != 2 || e.AsCall().Args()[0].ID() != not.ID() {
			return
		}
		of := spelled(not.AsCall().Args()[0])
		sign, other := operatorSigns[e.AsCall().FunctionName()], e.AsCall().Args()[1]
		text := "…"
		if isLiteral(other) && other.AsLiteral().Type() == celtypes.StringType {
			text = strconv.Quote(value(other))
		} else if n := spelled(other); n != "" {
			text = n
		}
		switch {
		case of == "":
		case sign == "==":
			hint = "write " + of + " != " + text
		case sign == "!=":
			hint = "write " + of + " == " + text
		case comparisonSigns[e.AsCall().FunctionName()] != "", sign == "in":
			hint = "write !(" + of + " " + sign + " " + text + ")"
		}
	}))
	return hint
}

// literalOf returns the last literal, or nil.
func literalOf(args []ast.Expr) (literal ast.Expr) {
	for _, arg := range args {
		if isLiteral(arg) {
			literal = arg
		}
	}
	return literal
}

// comparisonHint returns a way to compare values of the types a and b.
func comparisonHint(args []ast.Expr, a, b string) string {
	literal := literalOf(args)
	has := func(x, y string) bool { return a == x && b == y || a == y && b == x }
	switch {
	case has("duration", "int"), has("duration", "double"):
		return "a length of time is written " + durationExample
	case has("duration", "string"):
		if text := celtypes.String(value(literal)); isDuration(text) {
			return `write duration("` + string(text) + `")`
		}
		return "a length of time is written " + durationExample
	case has("timestamp", "string"), has("timestamp", "int"):
		return `write now - duration("1h"), or ` + timestampExample
	case has("timestamp", "duration"):
		return `a time is written now - duration("1h"), and the length between two times ` + differenceExample
	case has("int", "double"), has("int", "uint"):
		return "write a whole number without suffix, such as 2"
	case has("int", "string"):
		return "write a number without quotes, and a string with them"
	case has("list(string)", "string"):
		return collectionHint(byName["images"])
	case has("map(string, string)", "string"):
		return collectionHint(byName["labels"])
	case has("string", "null"):
		return `write node == "" for a field, and !has(labels.app) for a label`
	case strings.HasPrefix(b, "null"), strings.HasPrefix(a, "null"):
		return missingHint
	}
	return ""
}

// isDuration reports whether CEL converts the text to a duration.
func isDuration(text celtypes.String) bool {
	return text.ConvertToType(celtypes.DurationType).Type() == celtypes.DurationType
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
