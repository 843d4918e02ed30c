// SPDX-License-Identifier: Apache-2.0

package question

// Operand is the SQL of a value.
type Operand struct {
	SQL  string
	Type Type
	// Nullable: the value may be NULL, which is an error of CEL.
	Nullable bool
}

// Dialect is what differs between engines. Comparisons, AND, OR, NOT and IN with a list are the same
// in all of them.
//
// Its methods return SQL expressions. Callers put them into parentheses where needed. The arguments
// are SQL of this Dialect, already in parentheses where needed. A method must use each argument
// exactly once: the SQL of a nested question would grow exponentially otherwise. A result is NULL if
// an argument is NULL, unless the method says more. A condition is true, false or NULL, with the
// logic of three values: NULL is an error of CEL. So it must stay NULL, even under NOT.
type Dialect interface {
	// Param returns the placeholder of the parameter n, from 1. A parameter appears once.
	Param(n int, of Type) string
	// Field returns a field with one value. NULL means missing. A field of Steps is the first start of
	// the rows of its phase, or their last end; that is NULL while any of them has no end. The field End
	// has no column.
	Field(f *Field) string

	// Contains, StartsWith and EndsWith compare bytes.
	Contains(text, part string) string
	StartsWith(text, prefix string) string
	EndsWith(text, suffix string) string
	// Matches searches text for a match of an RE2 expression.
	Matches(text, pattern string) string
	// Plus and Minus are of nanoseconds, and NULL outside 64 bits: see the functions of this package.
	Plus(a, b string) string
	Minus(a, b string) string
	// If is NULL if the condition is, and does not depend on the other branch.
	If(condition, then, otherwise string) string

	// Size counts the elements of a list or the keys of a map.
	Size(f *Field) string
	// Has reports whether x is an element or a key. It is NULL if x is, also for an empty list.
	Has(f *Field, x Operand) string
	// Value returns the value of a key of a map, or NULL.
	Value(f *Field, key string) string
	// Element returns the variable of a body of Exists and All. They are not nested.
	Element(f *Field) string
	// Exists is true if the body is for any element, otherwise NULL if the body is for any, otherwise
	// false.
	Exists(f *Field, body Operand) string
	// All is false if the body is for any element, otherwise NULL if the body is for any, otherwise
	// true.
	All(f *Field, body Operand) string

	// Quantiles returns the aggregate of the values at fractions from 0 to 1, without those that are
	// NULL. Fractions, a parameter, and the result are JSON arrays of numbers; the result is NULL without
	// values. No question uses it: it is for statistics over its matches.
	Quantiles(value, fractions string) string
}
