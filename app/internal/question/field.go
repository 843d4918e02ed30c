// SPDX-License-Identifier: Apache-2.0

package question

import (
	"slices"
	"strings"
	"time"
)

// Field is a value of a lifecycle that a question may use. A row of data has Name, Type, Meaning and From,
// and perhaps Values and Facet. The rest follows.
type Field struct {
	// Name is the name in a question, such as "kind" or "phase.pull".
	Name string
	// Type is the type of the value. No field is a Bool.
	Type Type
	// Optional: a lifecycle may lack the value. An expression with a missing value is an error of
	// CEL, and the lifecycle does not match. Texts, lists and maps of data are never missing, but empty.
	Optional bool
	// Table and Column name the place of the value in an archive. A list has one row an element, and
	// a map has one row a key, in Column. A field without a table is computed of others: see Dialect.
	Table, Column string
	// Phase selects the rows of Steps, for a field of that table.
	Phase   string
	Meaning string
	// Values are the values of a text with few, without the empty one. Any other value is an error in a
	// question. It is nil for all other fields.
	Values []string
	// OfNode: the value is a fact about the Node of a Pod, not one of the object.
	OfNode bool
	// Facet: the most frequent values of the text complete a question.
	Facet bool

	// From reads the value of a field of data: one of the types of Lifecycle.Values, or nil. It is nil for the
	// other fields, whose values are members of Lifecycle.
	From func(Source) any
	// value returns the value of a lifecycle, or nil if it is missing.
	value func(*Lifecycle) any
	// set is the inverse of Stored, for a member.
	set func(*Lifecycle, any)
}

// The tables of an archive.
const (
	Lifecycles = "lifecycles"
	Traces     = "traces"
	// Objects has one row for each object of a trace. A lifecycle refers to its object.
	Objects = "objects"
	// Steps has one row for each span of a phase, with its start, and its end or NULL.
	Steps = "phases"
)

// The names that are no fields.
const (
	// now is the time of the evaluation.
	now = "now"
	// phase, began and ended are the objects with one field for each phase.
	phase = "phase"
	began = "began"
	ended = "ended"
)

// labels is the name of the map.
const labels = "labels"

// objects has the objects, in the order of the documents.
var objects = []string{phase, began, ended}

// startup is the phase without steps of its own.
const startup = "startup"

// End is the name of the field with the end of a lifecycle. It has no place of its own: it is Plus of
// the columns start and duration if outcome is not empty, and missing otherwise.
const End = "end"

// outcome is the name of the field that is empty for an open lifecycle.
const outcome = "outcome"

// table returns the rows with all that follows from them.
func table(rows ...[]Field) []Field {
	out := slices.Concat(rows...)
	for i := range out {
		if out[i].From != nil {
			out[i].complete()
		}
	}
	return out
}

// complete derives the rest of a row of data.
func (f *Field) complete() {
	f.Table, f.Column = Lifecycles, f.Name
	var empty any
	switch f.Type {
	case String:
		empty = ""
	case List:
		f.Table, f.Column, empty = "lifecycle_"+f.Name, "element", []string(nil)
	case Map:
		f.Table, f.Column, empty = "lifecycle_"+f.Name, "key", map[string]string(nil)
	case Bool, Int, Timestamp, Duration:
		f.Optional = true
	}
	name := f.Name
	f.value = func(l *Lifecycle) any {
		if v, is := l.Values[name]; is {
			return v
		}
		return empty
	}
}

// byName has the fields by name, that of a reserved name by its spelling for CEL, too.
var byName = indexed(fields)

func indexed(fields []Field) map[string]*Field {
	out := map[string]*Field{}
	for i := range fields {
		out[fields[i].Name] = &fields[i]
	}
	out[unreserved] = out[reserved]
	return out
}

// Fields returns all fields, in the order of the documents.
func Fields() []Field { return slices.Clone(fields) }

// Add adds a field to the table. It is for tests. It must come before the first question, lifecycle and
// archive of the process.
func Add(row Field) {
	fields = append(fields, table([]Field{row})...)
	byName = indexed(fields)
}

// isObject reports whether the name is that of an object with fields.
func isObject(name string) bool { return slices.Contains(objects, name) }

// names returns the names that a question may use, sorted, without objects.
func names() []string {
	out := []string{now}
	for _, f := range fields {
		if !strings.Contains(f.Name, ".") {
			out = append(out, f.Name)
		}
	}
	slices.Sort(out)
	return out
}

// phaseNames returns the names of the fields of an object, sorted.
func phaseNames(object string) []string {
	var out []string
	for _, f := range fields {
		if name, is := strings.CutPrefix(f.Name, object+"."); is {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Stored returns the value of a lifecycle as an archive keeps it: a string, an int64 (see Type), or
// nil if it is missing. It returns nil for a list or a map: see Lifecycle.Values.
func (f *Field) Stored(l *Lifecycle) any {
	switch v := f.value(l).(type) {
	case string, int64:
		return v
	case time.Time:
		return within(v).UnixNano()
	case time.Duration:
		return v.Nanoseconds()
	}
	return nil
}

// Set sets the value of a lifecycle to one that Stored returned, or to a list or a map. It has no effect on
// fields of other tables, nor for nil.
func (f *Field) Set(l *Lifecycle, v any) {
	switch n, isNumber := v.(int64); {
	case f.set != nil:
		f.set(l, v)
	case f.From == nil:
	case isNumber && f.Type == Timestamp:
		l.Set(f.Name, time.Unix(0, n).UTC())
	case isNumber && f.Type == Duration:
		l.Set(f.Name, time.Duration(n))
	default:
		l.Set(f.Name, v)
	}
}
