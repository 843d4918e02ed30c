// SPDX-License-Identifier: Apache-2.0

package question

import (
	"strconv"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	celtypes "cel.dev/cel-go/common/types"
)

// unquoted returns the error of a text without quotes beside a value with texts, as in kind == Pod, or
// nil.
func (s *scope) unquoted(c ast.CallExpr, local string) *Error {
	args := operands(c)
	if len(args) != 2 {
		return nil
	}
	a, b := args[0], args[1]
	var words []ast.Expr
	switch name := c.FunctionName(); {
	case name == operators.In && b.Kind() == ast.ListKind && isText(a, local):
		words = b.AsList().Elements()
	case name == operators.In && isCollection(b, local), name == operators.Index && isMap(a, local):
		words = args
	case isTextTest(name) && isText(a, local):
		words = args[1:]
	case (name == operators.Equals || name == operators.NotEquals) && isText(a, local) != isText(b, local):
		words = args
	}
	for _, e := range words {
		if text := bare(e, local); text != "" {
			return fault(s.info, e, "unknown field "+text, "write "+strconv.Quote(text)+", with quotes")
		}
	}
	return nil
}

// operands returns the target and the arguments of a call.
func operands(c ast.CallExpr) []ast.Expr {
	if c.IsMemberFunction() {
		return append([]ast.Expr{c.Target()}, c.Args()...)
	}
	return c.Args()
}

// isText reports whether e is a field with a text, the value of a label, or the variable local.
func isText(e ast.Expr, local string) bool {
	switch e.Kind() {
	case ast.IdentKind:
		f := byName[e.AsIdent()]
		return e.AsIdent() == local || f != nil && f.Type == String
	case ast.SelectKind:
		return isMap(e.AsSelect().Operand(), local)
	case ast.CallKind:
		c := e.AsCall()
		return c.FunctionName() == operators.Index && len(c.Args()) == 2 && isMap(c.Args()[0], local)
	}
	return false
}

// isCollection reports whether e is a list or a map.
func isCollection(e ast.Expr, local string) bool {
	if e.Kind() != ast.IdentKind || e.AsIdent() == local {
		return false
	}
	f := byName[e.AsIdent()]
	return f != nil && (f.Type == List || f.Type == Map)
}

func isMap(e ast.Expr, local string) bool {
	return isCollection(e, local) && byName[e.AsIdent()].Type == Map
}

// bare returns the text of an expression that names no field but may be a text without quotes, such as
// kube-system, or "".
func bare(e ast.Expr, local string) string {
	text := spelled(e)
	first := text[:wordLength(text)]
	if first == "" || !isLetter(first[0]) || first == local || first == now || byName[first] != nil || isObject(first) {
		return ""
	}
	if e.Kind() == ast.SelectKind && meant(e.AsSelect()) {
		return ""
	}
	return text
}

// meant reports whether the selection is near a field, as pod.name is.
func meant(s ast.SelectExpr) bool {
	if of := s.Operand(); of.Kind() != ast.IdentKind {
		return false
	} else if near := nearest(of.AsIdent(), objects); near != "" && byName[near+"."+s.FieldName()] != nil {
		return true
	} else if stepHint(of.AsIdent(), s.FieldName(), "") != "" {
		return true
	}
	return byName[s.FieldName()] != nil
}

// spelled returns the text of names and whole numbers with points, - and / between them, or "" for
// other expressions.
func spelled(e ast.Expr) string {
	switch e.Kind() {
	case ast.IdentKind:
		if e.AsIdent() == unreserved {
			return reserved
		}
		return e.AsIdent()
	case ast.SelectKind:
		if s := e.AsSelect(); !s.IsTestOnly() {
			return joined(spelled(s.Operand()), ".", s.FieldName())
		}
	case ast.LiteralKind:
		if n, is := e.AsLiteral().(celtypes.Int); is && n >= 0 {
			return strconv.FormatInt(int64(n), 10)
		}
	case ast.CallKind:
		c := e.AsCall()
		sign := map[string]string{operators.Subtract: "-", operators.Divide: "/"}[c.FunctionName()]
		if sign != "" && len(c.Args()) == 2 {
			return joined(spelled(c.Args()[0]), sign, spelled(c.Args()[1]))
		}
	}
	return ""
}

// joined returns a sign between two texts, or "" if one is empty.
func joined(a, sign, b string) string {
	if a == "" || b == "" {
		return ""
	}
	return a + sign + b
}

// labelKey returns the key of a label without quotes, such as that of labels.app.kubernetes.io/name, or "".
func labelKey(e ast.Expr, local string) string {
	if local == labels {
		return ""
	}
	key, is := strings.CutPrefix(spelled(e), labels+".")
	if !is || !strings.ContainsAny(key, "./-") {
		return ""
	}
	return key
}
