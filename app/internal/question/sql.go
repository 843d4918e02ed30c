// SPDX-License-Identifier: Apache-2.0

package question

import (
	"strings"
	"time"

	"cel.dev/cel-go/common/overloads"
)

// Condition is a question as a condition of SQL, for a WHERE clause. It is NULL for an error of CEL.
type Condition struct {
	SQL string
	// Args are the values of its parameters: int64, string, or nil.
	Args []any
}

// Condition compiles the question for an engine. All its constants are parameters. The number of the
// first one is given, from 1. The SQL depends only on the form of the question.
func (q *Question) Condition(d Dialect, now time.Time, first int) Condition {
	of, args := q.compile(d, now, first)
	return Condition{SQL: of.SQL, Args: args}
}

// Operand compiles the length for an engine, in nanoseconds, with the values of its parameters. It is
// NULL for an error of CEL. Otherwise it is as Question.Condition.
func (l *Length) Operand(d Dialect, now time.Time, first int) (Operand, []any) {
	return l.compile(d, now, first)
}

// Operand compiles the text for an engine. It is as Length.Operand.
func (t *Text) Operand(d Dialect, now time.Time, first int) (Operand, []any) {
	return t.compile(d, now, first)
}

// Operand compiles the number for an engine. It is as Length.Operand.
func (n *Number) Operand(d Dialect, now time.Time, first int) (Operand, []any) {
	return n.compile(d, now, first)
}

func (e *expression) compile(d Dialect, now time.Time, first int) (Operand, []any) {
	to := &emitter{Dialect: d, now: within(now).UnixNano(), first: first}
	return e.root.sql(to), to.args
}

// emitter writes SQL.
type emitter struct {
	Dialect
	now   int64
	first int
	args  []any
}

// param adds a parameter.
func (e *emitter) param(of Type, value any) string {
	if b, is := value.(bool); is {
		value = int64(0)
		if b {
			value = int64(1)
		}
	}
	e.args = append(e.args, value)
	return e.Param(e.first+len(e.args)-1, of)
}

func (n constant) sql(e *emitter) Operand { return Operand{e.param(n.of, n.value), n.of, false} }
func (present) sql(e *emitter) Operand    { return Operand{e.param(Timestamp, e.now), Timestamp, false} }
func (n column) sql(e *emitter) Operand {
	return Operand{e.Field(n.field), n.field.Type, n.field.Optional}
}
func (n element) sql(e *emitter) Operand { return Operand{e.Element(n.field), String, false} }

func (n negation) sql(e *emitter) Operand {
	of := n.of.sql(e)
	return Operand{"(NOT " + of.SQL + ")", Bool, of.Nullable}
}

func (n junction) sql(e *emitter) Operand   { return infix(n.a.sql(e), n.sign, n.b.sql(e)) }
func (n comparison) sql(e *emitter) Operand { return infix(n.a.sql(e), n.sign, n.b.sql(e)) }

// infix returns a condition of two operands. AND and OR of SQL absorb NULL as CEL's operators absorb
// errors.
func infix(a Operand, sign string, b Operand) Operand {
	return Operand{"(" + a.SQL + " " + sign + " " + b.SQL + ")", Bool, a.Nullable || b.Nullable}
}

func (n choice) sql(e *emitter) Operand {
	c, a, b := n.condition.sql(e), n.then.sql(e), n.otherwise.sql(e)
	return Operand{"(" + e.If(c.SQL, a.SQL, b.SQL) + ")", a.Type, c.Nullable || a.Nullable || b.Nullable}
}

// sql folds a sum of constants, so that a comparison with a column can use an index.
func (n sum) sql(e *emitter) Operand {
	if value, fits, fixed := e.fixed(n); fixed {
		if !fits {
			return Operand{e.param(n.of, nil), n.of, true}
		}
		return Operand{e.param(n.of, value), n.of, true}
	}
	a, b := n.a.sql(e), n.b.sql(e)
	if n.minus {
		return Operand{"(" + e.Minus(a.SQL, b.SQL) + ")", n.of, true}
	}
	return Operand{"(" + e.Plus(a.SQL, b.SQL) + ")", n.of, true}
}

// fixed returns the nanoseconds of a part without fields, whether they fit into 64 bits, and whether
// the part is such a one.
func (e *emitter) fixed(n node) (value int64, fits, fixed bool) {
	switch n := n.(type) {
	case constant:
		value, fixed = n.value.(int64)
		return value, true, fixed
	case present:
		return e.now, true, true
	case sum:
		a, aFits, aFixed := e.fixed(n.a)
		b, bFits, bFixed := e.fixed(n.b)
		of := Plus
		if n.minus {
			of = Minus
		}
		value, fits = of(a, b)
		return value, fits && aFits && bFits, aFixed && bFixed
	}
	return 0, false, false
}

func (n textTest) sql(e *emitter) Operand {
	test := e.Contains
	switch n.test {
	case overloads.StartsWith:
		test = e.StartsWith
	case overloads.EndsWith:
		test = e.EndsWith
	case overloads.Matches:
		test = e.Matches
	}
	of, part := n.of.sql(e), n.part.sql(e)
	return Operand{"(" + test(of.SQL, part.SQL) + ")", Bool, of.Nullable || part.Nullable}
}

func (n oneOf) sql(e *emitter) Operand {
	of := n.of.sql(e)
	params := make([]string, len(n.values))
	for i, v := range n.values {
		params[i] = v.sql(e).SQL
	}
	return Operand{"(" + of.SQL + " IN (" + strings.Join(params, ", ") + "))", Bool, of.Nullable}
}

func (n member) sql(e *emitter) Operand {
	of := n.of.sql(e)
	return Operand{"(" + e.Has(n.field, of) + ")", Bool, of.Nullable}
}

func (n lookup) sql(e *emitter) Operand {
	return Operand{"(" + e.Value(n.field, n.key.sql(e).SQL) + ")", String, true}
}

func (n known) sql(e *emitter) Operand {
	return Operand{"(" + e.Field(n.field) + " IS NOT NULL)", Bool, false}
}

func (n size) sql(e *emitter) Operand { return Operand{"(" + e.Size(n.field) + ")", Int, false} }

func (n quantifier) sql(e *emitter) Operand {
	body := n.body.sql(e)
	if n.all {
		return Operand{"(" + e.All(n.field, body) + ")", Bool, body.Nullable}
	}
	return Operand{"(" + e.Exists(n.field, body) + ")", Bool, body.Nullable}
}
