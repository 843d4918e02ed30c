// SPDX-License-Identifier: Apache-2.0

package question

import (
	"fmt"
	"slices"
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
	if name == local || name == now || name == phase || byName[name] != nil {
		return nil
	}
	hint := "fields are " + strings.Join(names(), ", ") + " and those of " + phase
	if near := similar(name); near != "" {
		hint = "did you mean " + near + "?"
	}
	return fault(s.info, e, "unknown field "+name, hint)
}

// selection checks a.b and has(a.b).
func (s *scope) selection(e ast.Expr, local string) *Error {
	of, field := e.AsSelect().Operand(), e.AsSelect().FieldName()
	if of.Kind() != ast.IdentKind {
		return s.check(of, local)
	}
	s.nodes++
	name := of.AsIdent()
	known := byName[name]
	switch {
	case name == local:
		return fault(s.info, e, name+" has no fields", onlyFields)
	case name == phase:
		if byName[phase+"."+field] == nil {
			hint := "phases are " + strings.Join(phaseNames(), ", ")
			if near := nearest(field, phaseNames()); near != "" {
				hint = "did you mean " + phase + "." + near + "?"
			}
			return fault(s.info, e, "unknown field "+phase+"."+field, hint)
		}
		return nil
	case known != nil && known.Type != Map:
		return fault(s.info, e, known.Name+" has no fields", onlyFields)
	case known == nil && byName[field] != nil:
		return fault(s.info, e, "unknown field "+name+"."+field, "did you mean "+field+"?")
	}
	return s.name(of, local)
}

// call checks an operator or a function.
func (s *scope) call(e ast.Expr, local string) *Error {
	c := e.AsCall()
	name := c.FunctionName()
	if _, is := operatorSigns[name]; !is && !slices.Contains(functionNames, name) {
		return fault(s.info, e, unsupported(name), wayOut(name))
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
