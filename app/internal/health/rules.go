// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// The bounds of an expression and its evaluation.
const (
	// MaxExpression bounds an expression, in characters.
	MaxExpression = 1024
	// maxNesting bounds its nesting.
	maxNesting = 32
	// maxCost bounds one evaluation, in CEL's units of cost: about one for each accessed field.
	maxCost = 10_000
	// maxDetail bounds a message of CEL, in bytes.
	maxDetail = 300
)

// Rule says by three expressions when an object of a kind has its desired state. The expressions read the
// fields of the object: apiVersion, kind, metadata, spec and status. Current is required, the others may
// be empty.
type Rule struct {
	Kind                        schema.GroupKind
	Current, InProgress, Failed string
}

// ExpressionError is an error in an expression, with its position there. Line and Column begin with 1.
type ExpressionError struct {
	Line, Column int
	Detail       string
}

// Error implements error.
func (e *ExpressionError) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Detail) }

// Rules are compiled rules, one a kind. Nil has none. A value does not change, and is safe for concurrent
// use.
type Rules struct {
	of map[schema.GroupKind]*compiledRule
}

type compiledRule struct{ inProgress, failed, current cel.Program }

// NewRules compiles rules. A later rule of a kind replaces an earlier one. It returns nil without rules.
func NewRules(all []Rule) (*Rules, error) {
	if len(all) == 0 {
		return nil, nil //nolint:nilnil // nil has no rules
	}
	out := &Rules{of: map[schema.GroupKind]*compiledRule{}}
	for _, r := range all {
		var c compiledRule
		for _, e := range []struct {
			text string
			to   *cel.Program
		}{{r.InProgress, &c.inProgress}, {r.Failed, &c.failed}, {r.Current, &c.current}} {
			if e.text == "" {
				continue
			}
			program, err := Compile(e.text)
			if err != nil {
				return nil, err
			}
			*e.to = program
		}
		out.of[r.Kind] = &c
	}
	return out, nil
}

// Compile compiles one expression. An error is an *ExpressionError.
func Compile(text string) (cel.Program, error) {
	if strings.TrimSpace(text) == "" {
		return nil, &ExpressionError{1, 1, "must be an expression, such as status.phase == 'Ready'"}
	}
	env, err := environment()
	if err != nil {
		return nil, &ExpressionError{1, 1, err.Error()}
	}
	checked, issues := env.Compile(text)
	if all := issues.Errors(); len(all) > 0 {
		at := all[0].Location
		return nil, &ExpressionError{
			max(at.Line(), 1), max(at.Column()+1, 1), object.OneLine(all[0].Message, maxDetail),
		}
	}
	if t := checked.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		return nil, &ExpressionError{1, 1, "must be true or false, and is of type " + t.String()}
	}
	program, err := env.Program(checked, cel.EvalOptions(cel.OptOptimize), cel.CostLimit(maxCost))
	if err != nil {
		return nil, &ExpressionError{1, 1, object.OneLine(err.Error(), maxDetail)}
	}
	return program, nil
}

// variables are the fields of an object that expressions may read.
var variables = []string{"apiVersion", "kind", "metadata", "spec", "status"}

// environment returns the environment of all expressions: CEL's standard library.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	options := []cel.EnvOption{
		cel.CrossTypeNumericComparisons(true),
		cel.ParserExpressionSizeLimit(MaxExpression), cel.ParserRecursionLimit(maxNesting),
	}
	for _, name := range variables {
		options = append(options, cel.Variable(name, cel.DynType))
	}
	return cel.NewEnv(options...)
})

// verdict returns the verdict of the rule for the kind. The expressions are evaluated in the order of Flux:
// inProgress, failed, current. An expression with an error, such as a missing field, is not true. If none is
// true, the object is in progress.
func (r *Rules) verdict(s *subject) (Verdict, bool) {
	if r == nil || r.of[s.kind] == nil {
		return Verdict{}, false
	}
	rule := r.of[s.kind]
	vars := map[string]any{}
	for _, name := range variables {
		vars[name] = s.obj[name]
		if vars[name] == nil {
			vars[name] = fields{}
		}
	}
	v := Verdict{Progress: observation.ProgressInProgress, By: observation.JudgedByConfiguration}
	v.Message, v.Reason = s.text()
	switch {
	case isTrue(rule.inProgress, vars):
	case isTrue(rule.failed, vars):
		v.Progress = observation.ProgressFailed
	case isTrue(rule.current, vars):
		v.Progress, v.Message, v.Reason = observation.ProgressCurrent, "", ""
	}
	return v, true
}

func isTrue(p cel.Program, vars map[string]any) bool {
	if p == nil {
		return false
	}
	v, _, err := p.Eval(vars)
	return err == nil && v.Value() == true
}

// text returns the message and the reason of an object that has not converged, by its names.
func (s *subject) text() (message, reason string) {
	by := byNames(s)
	if by.Progress == observation.ProgressCurrent {
		return "", ""
	}
	return by.Message, by.Reason
}
