// SPDX-License-Identifier: Apache-2.0

package question

// node is a part of a checked question, in the terms of lifecycles.
type node interface {
	// kind returns the type of the value.
	kind() Type
	// sql returns the part in the SQL of an engine.
	sql(e *emitter) Operand
}

type (
	// constant is a literal: a bool, int64 or string. Times and durations are in nanoseconds.
	constant struct {
		of    Type
		value any
	}
	// present is the time of the evaluation.
	present struct{}
	// column is a field with one value.
	column struct{ field *Field }
	// element is the variable of exists or all: an element of a list, or a key of a map.
	element struct{ field *Field }

	negation struct{ of node }
	junction struct {
		sign string // AND or OR
		a, b node
	}
	comparison struct {
		sign string // of SQL
		a, b node
	}
	// choice is ?:.
	choice struct{ condition, then, otherwise node }
	// sum is + or -.
	sum struct {
		minus bool
		a, b  node
		of    Type
	}
	// textTest is contains, startsWith, endsWith or matches.
	textTest struct {
		test     string
		of, part node
	}

	// oneOf is in, for a literal list that is not empty.
	oneOf struct {
		of     node
		values []constant
	}
	// member is in, for the elements of a list or the keys of a map.
	member struct {
		field *Field
		of    node
	}
	// lookup is the value of a key.
	lookup struct {
		field *Field
		key   node
	}
	// known is has() of an optional field.
	known struct{ field *Field }
	// size is the number of elements or keys.
	size struct{ field *Field }
	// quantifier is exists or all.
	quantifier struct {
		all   bool
		field *Field
		body  node
	}
)

func (n constant) kind() Type { return n.of }
func (n column) kind() Type   { return n.field.Type }
func (n choice) kind() Type   { return n.then.kind() }
func (n sum) kind() Type      { return n.of }
func (present) kind() Type    { return Timestamp }
func (element) kind() Type    { return String }
func (lookup) kind() Type     { return String }
func (size) kind() Type       { return Int }
func (negation) kind() Type   { return Bool }
func (junction) kind() Type   { return Bool }
func (comparison) kind() Type { return Bool }
func (textTest) kind() Type   { return Bool }
func (oneOf) kind() Type      { return Bool }
func (member) kind() Type     { return Bool }
func (known) kind() Type      { return Bool }
func (quantifier) kind() Type { return Bool }
