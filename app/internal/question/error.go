// SPDX-License-Identifier: Apache-2.0

package question

import (
	"fmt"

	"cel.dev/cel-go/common/ast"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// Error is an error in a question, with its position there. Line and Column begin with 1; a column
// is a character.
type Error struct {
	Line, Column int
	Detail       string
	// Hint is a way out; empty if none is known.
	Hint string
}

// Error implements error.
func (e *Error) Error() string {
	text := fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Detail)
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// fault returns an error at the first character of e.
func fault(info *ast.SourceInfo, e ast.Expr, detail, hint string) *Error {
	start := int32(-1)
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		if at, ok := info.GetOffsetRange(e.ID()); ok && (start < 0 || at.Start-nameBefore(e) < start) {
			start = at.Start - nameBefore(e)
		}
	}))
	at := info.GetLocationByOffset(max(start, 0))
	return &Error{max(at.Line(), 1), max(at.Column()+1, 1), printable(detail), printable(hint)}
}

// named returns an error at the name of the method that e calls, otherwise at the first character of e.
func named(info *ast.SourceInfo, e ast.Expr, detail, hint string) *Error {
	out := fault(info, e, detail, hint)
	c := e.AsCall()
	at, ok := info.GetOffsetRange(e.ID())
	if !ok || !c.IsMemberFunction() || len(c.FunctionName()) > MaxText {
		return out
	}
	paren := info.GetLocationByOffset(at.Start)
	if column := paren.Column() - len(c.FunctionName()); column >= 0 {
		out.Line, out.Column = paren.Line(), column+1
	}
	return out
}

// nameBefore returns the length of the name before the position of a call, which is its parenthesis.
func nameBefore(e ast.Expr) int32 {
	if e.Kind() != ast.CallKind || e.AsCall().IsMemberFunction() {
		return 0
	}
	name := e.AsCall().FunctionName()
	if operatorSigns[name] != "" || signs[name] != "" || len(name) > MaxText {
		return 0
	}
	return int32(len(name)) //nolint:gosec // in range
}

// maxDetail bounds a part of an error, in bytes.
const maxDetail = 300

// printable returns a text on one line. It may quote the expression.
func printable(text string) string { return object.OneLine(text, maxDetail) }
