// SPDX-License-Identifier: Apache-2.0

package question

import (
	"cmp"
	"fmt"
	"slices"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	celtypes "cel.dev/cel-go/common/types"
)

// builder makes nodes of the syntax tree that CEL has checked. It accepts the supported part of CEL
// only.
type builder struct {
	info *ast.SourceInfo
	uses map[string]bool
	// local is the variable of the exists or all around, over the list or map of; "" outside.
	local string
	of    *Field
	// inner counts the uses of lists and maps around.
	inner int
}

// inside builds a value that a list or map is searched for, or a condition on its elements. Each is
// a subquery in SQL, and engines bound the nesting of these.
func (b *builder) inside(e ast.Expr) (node, *Error) {
	if b.inner == maxInner {
		return b.fault(e, collections(" and ", List, Map)+" are nested too deeply", "")
	}
	b.inner++
	defer func() { b.inner-- }()
	return b.value(e)
}

// field returns a field by its name, and notes its use.
func (b *builder) field(name string) *Field {
	f := byName[name]
	if f != nil {
		b.uses[f.Name] = true
	}
	return f
}

func (b *builder) fault(e ast.Expr, detail, hint string) (node, *Error) {
	return nil, fault(b.info, e, detail, hint)
}

// root builds the root, of a type of the form.
func (b *builder) root(e ast.Expr, f form) (node, *Error) {
	n, err := b.value(e)
	if err == nil && !slices.Contains(f.of, n.kind()) {
		return b.fault(
			e, fmt.Sprintf("the %s has the type %s, and must be a %s", f.noun, n.kind(), f.result), f.hint(n.kind()),
		)
	}
	return n, err
}

// value builds an expression with one value, of any type but List and Map.
func (b *builder) value(e ast.Expr) (node, *Error) {
	switch e.Kind() {
	case ast.LiteralKind:
		return b.literal(e)
	case ast.IdentKind:
		return b.ident(e)
	case ast.SelectKind:
		return b.selection(e)
	case ast.CallKind:
		return b.call(e)
	case ast.ComprehensionKind:
		return b.quantifier(e)
	case ast.ListKind:
		return b.fault(e, "a list is supported only after in", `write kind in ["Pod", "Job"]`)
	}
	return b.fault(e, "this is not supported", "")
}

func (b *builder) literal(e ast.Expr) (node, *Error) {
	switch v := e.AsLiteral().(type) {
	case celtypes.Bool:
		return constant{Bool, bool(v)}, nil
	case celtypes.Int:
		return constant{Int, int64(v)}, nil
	case celtypes.String:
		return constant{String, string(v)}, nil
	case celtypes.Double, celtypes.Uint:
		return b.fault(e, "only whole numbers without suffix are supported", "write 2")
	case celtypes.Null:
		return b.fault(e, "null is not supported", missingHint)
	}
	return b.fault(e, "this literal is not supported", "")
}

// ident builds a field, now, or the variable of exists or all.
func (b *builder) ident(e ast.Expr) (node, *Error) {
	name := e.AsIdent()
	switch {
	case b.local != "" && name == b.local:
		return element{b.of}, nil
	case name == now:
		return present{}, nil
	}
	f := b.field(name)
	switch {
	case f == nil:
		return b.fault(e, "unknown field "+name, "")
	case f.Type == List, f.Type == Map:
		return b.fault(e, fmt.Sprintf("%s is a %s, not a single value", f.Name, f.Type), collectionHint(f))
	}
	return column{f}, nil
}

// collection returns the list or map that e names, or nil.
func (b *builder) collection(e ast.Expr) *Field {
	if e.Kind() != ast.IdentKind || b.local != "" && e.AsIdent() == b.local {
		return nil
	}
	if f := byName[e.AsIdent()]; f != nil && (f.Type == List || f.Type == Map) {
		return b.field(f.Name)
	}
	return nil
}

// selection builds phase.x, began.x, ended.x and labels.x, and has() of them.
func (b *builder) selection(e ast.Expr) (node, *Error) {
	s := e.AsSelect()
	if of := b.collection(s.Operand()); of != nil && of.Type == Map {
		key := constant{String, s.FieldName()}
		if s.IsTestOnly() {
			return member{of, key}, nil
		}
		return lookup{of, key}, nil
	}
	if of := s.Operand(); of.Kind() == ast.IdentKind && isObject(of.AsIdent()) && b.local != of.AsIdent() {
		if f := b.field(of.AsIdent() + "." + s.FieldName()); f != nil {
			if s.IsTestOnly() {
				return known{f}, nil
			}
			return column{f}, nil
		}
	}
	return b.fault(e, "this has no fields", onlyFields)
}

// comparisonSigns has the comparisons in SQL.
var comparisonSigns = map[string]string{
	operators.Equals: "=", operators.NotEquals: "<>", operators.Less: "<", operators.LessEquals: "<=",
	operators.Greater: ">", operators.GreaterEquals: ">=",
}

// call builds an operator or a function.
func (b *builder) call(e ast.Expr) (node, *Error) {
	c := e.AsCall()
	args := c.Args()
	if c.IsMemberFunction() {
		args = append([]ast.Expr{c.Target()}, args...)
	}
	name := c.FunctionName()
	switch name {
	case operators.In:
		return b.in(e, args)
	case overloads.Size:
		return b.size(e, args)
	case operators.Index:
		return b.index(e, args)
	case overloads.TypeConvertDuration, overloads.TypeConvertTimestamp:
		n, err := b.converted(e, name, args)
		if err != nil {
			return nil, err
		}
		return n, nil
	case overloads.Matches:
		if len(args) == 2 {
			if err := b.pattern(args[1]); err != nil {
				return nil, err
			}
		}
	}
	nodes := make([]node, len(args))
	for i, a := range args {
		n, err := b.value(a)
		if err != nil {
			return nil, err
		}
		nodes[i] = n
	}
	if len(nodes) == 2 && (name == operators.Equals || name == operators.NotEquals) {
		if err := cmp.Or(b.possible(args[1], nodes[0], nodes[1]), b.possible(args[0], nodes[1], nodes[0])); err != nil {
			return nil, err
		}
	}
	if n := combined(name, nodes); n != nil {
		return n, nil
	}
	return b.fault(e, unsupported(name), wayOut(name))
}

// combined returns the node of an operator or a function over values, or nil.
func combined(name string, of []node) node {
	switch {
	case name == operators.LogicalNot && are(of, Bool):
		return negation{of[0]}
	case name == operators.Conditional && len(of) == 3 && of[0].kind() == Bool && of[1].kind() == of[2].kind():
		return choice{of[0], of[1], of[2]}
	case len(of) != 2:
		return nil
	case comparisonSigns[name] != "" && of[0].kind() == of[1].kind():
		return comparison{comparisonSigns[name], of[0], of[1]}
	case name == operators.LogicalAnd && are(of, Bool, Bool):
		return junction{"AND", of[0], of[1]}
	case name == operators.LogicalOr && are(of, Bool, Bool):
		return junction{"OR", of[0], of[1]}
	case name == operators.Add && (are(of, Timestamp, Duration) || are(of, Duration, Timestamp)):
		return sum{false, of[0], of[1], Timestamp}
	case name == operators.Add && are(of, Duration, Duration):
		return sum{false, of[0], of[1], Duration}
	case name == operators.Subtract && are(of, Timestamp, Duration):
		return sum{true, of[0], of[1], Timestamp}
	case name == operators.Subtract && (are(of, Timestamp, Timestamp) || are(of, Duration, Duration)):
		return sum{true, of[0], of[1], Duration}
	case isTextTest(name) && are(of, String, String):
		return textTest{name, of[0], of[1]}
	}
	return nil
}

// isTextTest reports whether the function is a test of a string.
func isTextTest(name string) bool {
	switch name {
	case overloads.Contains, overloads.StartsWith, overloads.EndsWith, overloads.Matches:
		return true
	}
	return false
}

// are reports whether the nodes have these types.
func are(of []node, types ...Type) bool {
	return slices.EqualFunc(of, types, func(n node, t Type) bool { return n.kind() == t })
}

// quantifier builds exists or all.
func (b *builder) quantifier(e ast.Expr) (node, *Error) {
	c := e.AsComprehension()
	f := b.collection(c.IterRange())
	if f == nil || b.local != "" {
		return b.fault(e, "exists and all are supported for "+collections(" and ", List, Map)+" only, not nested", "")
	}
	b.local, b.of = c.IterVar(), f
	n, err := b.inside(body(c))
	b.local, b.of = "", nil
	if err != nil {
		return nil, err
	}
	if n.kind() != Bool {
		return b.fault(body(c), fmt.Sprintf("exists and all need a condition, not the type %s", n.kind()), "")
	}
	return quantifier{isAll(c), f, n}, nil
}
