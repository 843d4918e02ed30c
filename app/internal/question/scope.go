// SPDX-License-Identifier: Apache-2.0

package question

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
)

// scope finds names that are no fields and functions that questions lack, before CEL checks types:
// its own messages are less helpful. It counts nodes, too.
type scope struct {
	info  *ast.SourceInfo
	nodes int
}

// check returns the first error of e, or nil. The variable of exists or all is local, or it is "".
func (s *scope) check(e ast.Expr, local string) *Error {
	if s.nodes++; s.nodes > MaxNodes {
		return fault(s.info, e, fmt.Sprintf("the expression has more than %d parts", MaxNodes), "")
	}
	switch e.Kind() {
	case ast.IdentKind:
		return s.name(e, local)
	case ast.SelectKind:
		return s.selection(e, local)
	case ast.CallKind:
		return s.call(e, local)
	case ast.ListKind:
		return s.all(e.AsList().Elements(), local)
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		if err := s.check(c.IterRange(), local); err != nil {
			return err
		}
		if local != "" {
			return fault(s.info, e, "exists and all cannot be nested", "")
		}
		return s.check(body(c), c.IterVar())
	case ast.MapKind, ast.StructKind:
		return fault(s.info, e, "braces are not supported here", "for one of several values write in [\"a\", \"b\"]")
	}
	return nil
}

// all checks several expressions.
func (s *scope) all(of []ast.Expr, local string) *Error {
	for _, e := range of {
		if err := s.check(e, local); err != nil {
			return err
		}
	}
	return nil
}

// name checks a name that stands alone, or before a point.
func (s *scope) name(e ast.Expr, local string) *Error {
	name := e.AsIdent()
	switch {
	case name == local, name == now, byName[name] != nil:
		return nil
	case isObject(name):
		return fault(s.info, e, name+" has no value of its own", objectHint(name))
	}
	hint := "fields are " + strings.Join(names(), ", ") + " and those of " + strings.Join(objects, ", ")
	if near := similar(name); near != "" {
		hint = "did you mean " + near + "?"
	}
	return fault(s.info, e, "unknown field "+name, hint)
}

// selection checks a.b and has(a.b).
func (s *scope) selection(e ast.Expr, local string) *Error {
	of, field := e.AsSelect().Operand(), e.AsSelect().FieldName()
	if of.Kind() != ast.IdentKind {
		if key := labelKey(e, local); key != "" {
			return fault(s.info, e, "the values of "+labels+" have no fields",
				"write "+labels+"["+strconv.Quote(key)+"]")
		}
		if err := s.check(of, local); err != nil {
			return err
		}
		if object, name := fieldOf(of); object != "" && object != local {
			hint := onlyFields
			if meant := step(field, name); meant != "" && object == phase {
				hint = "did you mean " + meant + "?"
			}
			return fault(s.info, e, object+"."+name+" has no fields", hint)
		}
		return nil
	}
	s.nodes++
	name := of.AsIdent()
	known := byName[name]
	switch {
	case name == local:
		return fault(s.info, e, name+" has no fields", onlyFields)
	case isObject(name):
		if byName[name+"."+field] == nil {
			return fault(s.info, e, "unknown field "+name+"."+field, phaseHint(name, field))
		}
		return nil
	case known != nil && known.Type != Map:
		return fault(s.info, e, known.Name+" has no fields", stepHint(name, field, onlyFields))
	case known == nil:
		if hint := stepHint(name, field, ""); hint != "" {
			return fault(s.info, e, "unknown field "+name+"."+field, hint)
		}
		if near := nearest(name, objects); near != "" && byName[near+"."+field] != nil {
			return fault(s.info, e, "unknown field "+name+"."+field, "did you mean "+near+"."+field+"?")
		}
		if byName[field] != nil {
			return fault(s.info, e, "unknown field "+name+"."+field, "did you mean "+field+"?")
		}
	}
	return s.name(of, local)
}

// fieldOf returns the object and the name of a field such as phase.pull, or "" for other expressions.
func fieldOf(e ast.Expr) (object, name string) {
	if e.Kind() != ast.SelectKind {
		return "", ""
	}
	s := e.AsSelect()
	if of := s.Operand(); of.Kind() == ast.IdentKind && isObject(of.AsIdent()) {
		return of.AsIdent(), s.FieldName()
	}
	return "", ""
}

// call checks an operator or a function.
func (s *scope) call(e ast.Expr, local string) *Error {
	c := e.AsCall()
	name := c.FunctionName()
	if err := s.unquoted(c, local); err != nil {
		return err
	}
	if key := labelKey(e, local); key != "" {
		return fault(s.info, e, unsupported(name), "write "+labels+"["+strconv.Quote(key)+"]")
	}
	if _, is := operatorSigns[name]; !is && !slices.Contains(functionNames, name) {
		return named(s.info, e, unsupported(name), wayOut(name))
	}
	if c.IsMemberFunction() {
		if err := s.check(c.Target(), local); err != nil {
			return err
		}
	}
	return s.all(c.Args(), local)
}

// body returns the condition of exists or all. Questions have no other comprehensions: the parser
// knows only these macros.
func body(c ast.ComprehensionExpr) ast.Expr {
	if step := c.LoopStep(); step.Kind() == ast.CallKind && len(step.AsCall().Args()) == 2 {
		return step.AsCall().Args()[1]
	}
	return c.LoopStep()
}

// isAll reports whether the comprehension is that of all.
func isAll(c ast.ComprehensionExpr) bool {
	step := c.LoopStep()
	return step.Kind() == ast.CallKind && step.AsCall().FunctionName() == operators.LogicalAnd
}
