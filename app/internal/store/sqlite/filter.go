// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// filter is a WHERE clause under construction.
type filter struct {
	terms []string
	args  []any
}

func (f *filter) add(term string, args ...any) {
	f.terms = append(f.terms, term)
	f.args = append(f.args, args...)
}

// between bounds a column of times; zero bounds nothing.
func (f *filter) between(column string, since, until time.Time) {
	if !since.IsZero() {
		f.add(column+" >= ?", nanos(since))
	}
	if !until.IsZero() {
		f.add(column+" < ?", nanos(until))
	}
}

// anyOf restricts a column to the values; none restricts nothing.
func anyOf[T ~string](f *filter, column string, values []T) {
	if len(values) == 0 {
		return
	}
	f.add(column + " IN (" + params(len(values)) + ")")
	for _, v := range values {
		f.args = append(f.args, string(v))
	}
}

// inStates restricts a column of outcomes to states. All traces of an archive have ended.
func inStates(f *filter, column string, states []span.State) {
	if ended := store.Ended(states); len(ended) > 0 {
		anyOf(f, column, ended)
	} else {
		f.add("0")
	}
}

// params returns the text of n parameters.
func params(n int) string { return "?" + strings.Repeat(", ?", n-1) }

// noneOf excludes the values of a column; none excludes nothing.
func noneOf[T ~string](f *filter, column string, values []T) {
	if len(values) == 0 {
		return
	}
	f.add(column + " NOT IN (" + params(len(values)) + ")")
	for _, v := range values {
		f.args = append(f.args, string(v))
	}
}

// among restricts a column of trace IDs to some.
func (f *filter) among(column string, ids []trace.TraceID) {
	f.add(column + " IN (" + params(len(ids)) + ")")
	for _, id := range ids {
		f.args = append(f.args, id[:])
	}
}

// visible restricts the table traces, under its alias, to those that a scope permits as a whole. Without its
// finished version, a trace may have objects that are not known.
func (f *filter) visible(s store.Scope, traces string) {
	if !f.limit(s, traces) {
		return
	}
	sole, others := soles(s, traces), whole(s, traces)
	f.add("("+sole.all()+" OR "+others.all()+")", slices.Concat(sole.args, others.args)...)
}

// hidden restricts the table traces, under its alias, to those that a scope of all namespaces does not permit as a
// whole.
func (f *filter) hidden(s store.Scope, traces string) {
	all := whole(s, traces)
	few := &filter{}
	few.add("0")
	if len(s.Without) > 0 {
		few = &filter{}
		few.add(traces+".phase > 0 AND "+traces+".sole IS NULL AND NOT ("+all.all()+")", all.args...)
	}
	if len(s.Except) > 0 {
		few.terms = []string{"(" + few.all() + " OR lower(hex(" + traces + ".id)) IN (SELECT value FROM json_each(?)))"}
		few.args = append(few.args, idList(s.Except))
	}
	f.add(few.all(), few.args...)
}

// touching restricts the table traces, under its alias, to those that a scope permits as a whole or in part.
func (f *filter) touching(s store.Scope, traces string) {
	if !f.limit(s, traces) {
		return
	}
	sole, some := soles(s, traces), touched(s, traces)
	f.add("("+sole.all()+" OR "+some.all()+")", slices.Concat(sole.args, some.args)...)
}

// shared restricts the table traces, under its alias, to those that a scope permits in part.
func (f *filter) shared(s store.Scope, traces string) {
	if !f.limit(s, traces) {
		f.add("0")
		return
	}
	if s.Usual() {
		f.add(traces + ".sole IS NULL") // what an index can use
	}
	some, all := touched(s, traces), whole(s, traces)
	f.add(some.all(), some.args...)
	f.add("NOT ("+all.all()+")", all.args...)
}

// limit adds what all conditions of a scope have in common. It reports whether more is needed.
func (f *filter) limit(s store.Scope, traces string) bool {
	switch {
	case s.All():
		return false
	case s.Clusters != nil, s.Namespaces != nil && len(s.Namespaces) == 0: // the file does not have its cluster
		f.add("0")
		return false
	}
	f.add(traces + ".phase > 0")
	if len(s.Except) > 0 {
		f.add("lower(hex("+traces+".id)) NOT IN (SELECT value FROM json_each(?))", idList(s.Except))
	}
	return s.Namespaces != nil || len(s.Without) > 0
}

// idList returns trace IDs as a JSON list.
func idList(ids []trace.TraceID) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = id.String()
	}
	list, _ := json.Marshal(texts)
	return string(list)
}

// soles selects the traces that a scope permits by their only namespace.
func soles(s store.Scope, traces string) *filter {
	f := &filter{}
	switch {
	case !s.Usual():
		f.add("0")
	case s.Namespaces == nil:
		f.add(traces + ".sole IS NOT NULL")
	default:
		anyOf(f, traces+".sole", s.Namespaces)
	}
	return f
}

// whole selects the traces that a scope permits as a whole by their objects: store.Scope.PermitsTrace in SQL.
func whole(s store.Scope, traces string) *filter {
	f := &filter{}
	if s.Usual() {
		f.add(traces + ".sole IS NULL")
	}
	f.add(traces + ".mentions = 0")
	if !s.PermitsNamespace("") {
		f.add("EXISTS (SELECT 1 FROM objects so WHERE so.trace = " + traces + ".num)")
	}
	permits := permitted(s, "so")
	f.add("NOT EXISTS (SELECT 1 FROM objects so WHERE so.trace = "+traces+".num AND NOT ("+permits.all()+"))",
		permits.args...)
	return f
}

// touched selects the traces with an object that a scope permits: store.Scope.PermitsPart in SQL.
func touched(s store.Scope, traces string) *filter {
	f := &filter{}
	if s.Usual() {
		f.add(traces + ".sole IS NULL")
	}
	permits := permitted(s, "so")
	some := "EXISTS (SELECT 1 FROM objects so WHERE so.trace = " + traces + ".num AND " + permits.all() + ")"
	if s.PermitsNamespace("") {
		some = "(" + some + " OR NOT EXISTS (SELECT 1 FROM objects so WHERE so.trace = " + traces + ".num))"
	}
	f.add(some, permits.args...)
	return f
}

// permitted restricts the table objects, under its alias, to those that a scope permits. It is Scope.Permits in SQL.
func permitted(s store.Scope, objects string) *filter {
	f := &filter{}
	column := func(name string) string { return objects + "." + name }
	if s.Namespaces != nil {
		in, own := &filter{}, &filter{}
		anyOf(in, column("namespace"), s.Namespaces)
		anyOf(own, column("name"), s.Namespaces)
		text := in.all()
		if !s.PermitsNamespace("") {
			text = "(" + text + " OR " + column("namespace") + " = '' AND " + column("kind") + " = 'Namespace' AND " +
				column("api_group") + " = '' AND " + own.all() + ")"
			in.args = append(in.args, own.args...)
		}
		f.add(text, in.args...)
	}
	for _, g := range s.Without {
		kind := "NOT (" + column("kind") + " = ? AND " + column("api_group") + " IN (?, '')"
		in := &filter{args: []any{g.Kind, g.Group}}
		if noneOf(in, column("namespace"), g.Except); len(in.terms) > 0 {
			kind += " AND " + in.all()
		}
		f.add(kind+")", in.args...)
	}
	return f
}

func (f *filter) String() string {
	if len(f.terms) == 0 {
		return ""
	}
	return " WHERE " + f.all()
}

// all returns the condition that all terms hold.
func (f *filter) all() string { return strings.Join(f.terms, " AND ") }

// matching restricts the table objects to those with all nonempty fields of ref.
func matching(ref object.Ref) *filter {
	f := &filter{}
	for _, field := range []struct{ column, value string }{
		{"uid", string(ref.UID)},
		{"name", ref.Name},
		{"namespace", ref.Namespace},
		{"kind", ref.Kind.Kind},
		{"api_group", ref.Group},
	} {
		if field.value != "" {
			f.add("o."+field.column+" = ?", field.value)
		}
	}
	return f
}

// particular reports whether ref matches few objects. Then the query starts with them instead of
// the newest traces.
func particular(ref object.Ref) bool { return ref.Name != "" || ref.UID != "" }
