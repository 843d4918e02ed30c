// SPDX-License-Identifier: Apache-2.0

package relation

import (
	"fmt"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// The variables of an expression.
const (
	varFrom = "from"
	varTo   = "to"
)

// The bounds of an expression and its evaluation.
const (
	// MaxMatch bounds an expression, in characters.
	MaxMatch = 1024
	// maxDepth bounds its nesting.
	maxDepth = 32
	// maxTerms bounds its parts between &&.
	maxTerms = 16
	// maxCost bounds one evaluation, in CEL's units of cost: about one for each accessed field.
	maxCost = 10_000
)

// Error is an error in an expression, with its position there. Line and Column begin with 1.
type Error struct {
	Line, Column int
	Detail       string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Detail) }

// form describes the allowed expressions.
const form = "must be equalities (==) of an expression of from with one of to, joined by &&; conditions on only one " +
	"of the objects are allowed, too"

// Compile compiles a declaration. Its expression is a conjunction (&&). Each part is either an
// equality, between an expression of `from` and one of `to`, or a condition on one of the two. At
// least one part is an equality. An error is an *Error.
func Compile(d Declaration) (*Relation, error) {
	if strings.TrimSpace(d.Match) == "" {
		return nil, &Error{1, 1, form}
	}
	env, err := environment()
	if err != nil {
		return nil, &Error{1, 1, err.Error()}
	}
	checked, issues := env.Compile(d.Match)
	if all := issues.Errors(); len(all) > 0 {
		at := all[0].Location
		return nil, &Error{max(at.Line(), 1), max(at.Column()+1, 1), printable(all[0].Message)}
	}
	c := compiler{env: env, tree: checked.NativeRep(), relation: &Relation{Declaration: d}}
	if err := c.divide(c.tree.Expr()); err != nil {
		return nil, err
	}
	if len(c.relation.from.keys) == 0 {
		return nil, c.fault(c.tree.Expr(), form)
	}
	return c.relation, nil
}

// environment returns the environment of all expressions: CEL's standard library. Fields of objects
// have no declared types, because the schemas of custom resources are unknown here.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(
		cel.Variable(varFrom, cel.DynType), cel.Variable(varTo, cel.DynType),
		cel.CrossTypeNumericComparisons(true),
		cel.ParserExpressionSizeLimit(MaxMatch), cel.ParserRecursionLimit(maxDepth),
	)
})

// compiler divides one expression.
type compiler struct {
	env      *cel.Env
	tree     *ast.AST
	relation *Relation
	terms    int
}

// divide adds the parts of a conjunction to the relation.
func (c *compiler) divide(e ast.Expr) error {
	if a, b, ok := operands(e, operators.LogicalAnd); ok {
		if err := c.divide(a); err != nil {
			return err
		}
		return c.divide(b)
	}
	if c.terms++; c.terms > maxTerms {
		return c.fault(e, fmt.Sprintf("must have at most %d parts between &&", maxTerms))
	}
	from, to := uses(e)
	switch {
	case from && to:
		return c.equality(e)
	case from:
		return c.add(&c.relation.from.conditions, e)
	case to:
		return c.add(&c.relation.to.conditions, e)
	}
	return c.fault(e, "this part uses neither from nor to")
}

// equality adds a part about both objects.
func (c *compiler) equality(e ast.Expr) error {
	a, b, ok := operands(e, operators.Equals)
	if !ok {
		return c.fault(e, "this part uses both objects, and is no equality: "+form)
	}
	if from, _ := uses(a); !from {
		a, b = b, a
	}
	for _, of := range []struct {
		expr     ast.Expr
		from, to bool
	}{{a, true, false}, {b, false, true}} {
		if from, to := uses(of.expr); from != of.from || to != of.to {
			return c.fault(of.expr, "one side of this equality must use only from, the other only to")
		}
	}
	if err := c.add(&c.relation.from.keys, a); err != nil {
		return err
	}
	return c.add(&c.relation.to.keys, b)
}

// add plans the evaluation of a part of the expression.
func (c *compiler) add(to *[]cel.Program, e ast.Expr) error {
	part := ast.NewCheckedAST(ast.NewAST(e, c.tree.SourceInfo()), c.tree.TypeMap(), c.tree.ReferenceMap())
	p, err := c.env.PlanProgram(part, cel.EvalOptions(cel.OptOptimize), cel.CostLimit(maxCost))
	if err != nil {
		return c.fault(e, printable(err.Error()))
	}
	*to = append(*to, p)
	return nil
}

// fault returns an error at the first character of e.
func (c *compiler) fault(e ast.Expr, detail string) *Error {
	start := int32(-1)
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		if at, ok := c.tree.SourceInfo().GetOffsetRange(e.ID()); ok && (start < 0 || at.Start < start) {
			start = at.Start
		}
	}))
	at := c.tree.SourceInfo().GetLocationByOffset(max(start, 0))
	return &Error{max(at.Line(), 1), max(at.Column()+1, 1), detail}
}

// operands returns the operands of e, a call of the binary operator.
func operands(e ast.Expr, operator string) (a, b ast.Expr, ok bool) {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operator || len(e.AsCall().Args()) != 2 {
		return nil, nil, false
	}
	return e.AsCall().Args()[0], e.AsCall().Args()[1], true
}

// uses reports which objects e refers to.
func uses(e ast.Expr) (from, to bool) {
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.IdentKind {
			from = from || e.AsIdent() == varFrom
			to = to || e.AsIdent() == varTo
		}
	}))
	return from, to
}

// maxDetail bounds a message of CEL, in bytes.
const maxDetail = 300

// printable returns a text on one line. It may quote the expression.
func printable(text string) string { return object.OneLine(text, maxDetail) }
