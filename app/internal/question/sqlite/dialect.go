// SPDX-License-Identifier: Apache-2.0

// Package sqlite compiles questions for SQLite: it has the dialect, the tables of lifecycles, and
// the functions that SQLite lacks. The archive, which owns the file, is left to store/sqlite.
//
// A statement reads its lifecycles From, as in
//
//	"SELECT l.id FROM " + From(condition) + " WHERE " + condition
package sqlite

import (
	"slices"
	"strconv"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/question"
)

// Dialect is question.Dialect for SQLite. Register comes first.
//
// In its SQL, l is the lifecycle, o its object, el the row of the variable of exists and all, and m the row that a
// subquery is about. Only l, o and el are used inside of other parts, so no name is captured.
type Dialect struct{}

var _ question.Dialect = Dialect{}

// From returns the rows for a statement with these parts: the lifecycles l, and their objects o if a part uses one.
// SQLite begins with the object for a condition on its name or UID.
func From(parts ...string) string {
	if slices.ContainsFunc(parts, func(sql string) bool { return strings.Contains(sql, "o.") }) {
		return "lifecycles AS l LEFT JOIN objects AS o ON o.trace = l.trace AND o.num = l.object"
	}
	return "lifecycles AS l"
}

// Param implements question.Dialect.
func (Dialect) Param(n int, _ question.Type) string { return "?" + strconv.Itoa(n) }

// Field implements question.Dialect.
func (Dialect) Field(f *question.Field) string {
	switch {
	case f.Table == question.Objects:
		return "o." + f.Column
	case f.Table == question.Traces:
		return "(SELECT lower(hex(m." + f.Column + ")) FROM traces AS m WHERE m.num = l.trace)"
	case f.Table == question.Steps && f.Column == "start":
		return stepOf(stepBegan, f)
	case f.Table == question.Steps:
		return stepOf(stepEnded, f)
	case f.Name == question.End: // a sum above 64 bits would be a rounded number
		return "(CASE WHEN l.outcome <> '' AND typeof(l.start + l.duration) = 'integer' THEN l.start + l.duration END)"
	}
	return "l." + f.Column
}

// stepOf returns a function of a phase of the lifecycle. The name of the field names the phase.
func stepOf(function string, f *question.Field) string {
	return "(SELECT " + function + "(m.steps, '" + f.Phase + "') FROM " + f.Table +
		" AS m WHERE m.lifecycle = l.id)"
}

// Contains implements question.Dialect. LIKE would ignore case.
func (Dialect) Contains(text, part string) string { return "instr(" + text + ", " + part + ") > 0" }

// StartsWith implements question.Dialect. instr returns the first place.
func (Dialect) StartsWith(text, prefix string) string {
	return "instr(" + text + ", " + prefix + ") = 1"
}

// EndsWith implements question.Dialect.
func (Dialect) EndsWith(text, suffix string) string {
	return endsWith + "(" + text + ", " + suffix + ")"
}

// Matches implements question.Dialect.
func (Dialect) Matches(text, pattern string) string {
	return matches + "(" + text + ", " + pattern + ")"
}

// Plus implements question.Dialect. The operator of SQLite gives a rounded number above 64 bits.
func (Dialect) Plus(a, b string) string { return plus + "(" + a + ", " + b + ")" }

// Minus implements question.Dialect.
func (Dialect) Minus(a, b string) string { return minus + "(" + a + ", " + b + ")" }

// If implements question.Dialect. Conditions are 1, 0 or NULL.
func (Dialect) If(condition, then, otherwise string) string {
	return "CASE " + condition + " WHEN 1 THEN " + then + " WHEN 0 THEN " + otherwise + " END"
}

// Size implements question.Dialect.
func (Dialect) Size(f *question.Field) string {
	return "SELECT count(*) FROM " + f.Table + " AS m WHERE m.lifecycle = l.id"
}

// Has implements question.Dialect.
func (Dialect) Has(f *question.Field, x question.Operand) string {
	rows := "EXISTS (SELECT 1 FROM " + f.Table + " AS m WHERE m.lifecycle = l.id AND m." + f.Column + " = "
	if !x.Nullable {
		return rows + x.SQL + ")"
	}
	return "SELECT CASE WHEN v.x IS NULL THEN NULL ELSE " + rows + "v.x) END FROM (SELECT " + x.SQL + " AS x) AS v"
}

// Value implements question.Dialect.
func (Dialect) Value(f *question.Field, key string) string {
	return "SELECT m.value FROM " + f.Table + " AS m WHERE m.lifecycle = l.id AND m." + f.Column + " = " + key
}

// Element implements question.Dialect.
func (Dialect) Element(f *question.Field) string { return "el." + f.Column }

// Exists implements question.Dialect. EXISTS alone would be false where it must be NULL.
func (Dialect) Exists(f *question.Field, body question.Operand) string {
	if !body.Nullable {
		return "EXISTS (SELECT 1 FROM " + elements(f) + " AND " + body.SQL + ")"
	}
	return "SELECT CASE WHEN max(v.x) = 1 THEN 1 WHEN count(v.x) < count(*) THEN NULL ELSE 0 END FROM (SELECT " +
		body.SQL + " AS x FROM " + elements(f) + ") AS v"
}

// All implements question.Dialect.
func (Dialect) All(f *question.Field, body question.Operand) string {
	if !body.Nullable {
		return "NOT EXISTS (SELECT 1 FROM " + elements(f) + " AND NOT " + body.SQL + ")"
	}
	return "SELECT CASE WHEN min(v.x) = 0 THEN 0 WHEN count(v.x) < count(*) THEN NULL ELSE 1 END FROM (SELECT " +
		body.SQL + " AS x FROM " + elements(f) + ") AS v"
}

// elements returns the rows of a list or map of the lifecycle.
func elements(f *question.Field) string { return f.Table + " AS el WHERE el.lifecycle = l.id" }

// Quantiles implements question.Dialect.
func (Dialect) Quantiles(value, fractions string) string {
	return quantile + "(" + value + ", " + fractions + ")"
}
