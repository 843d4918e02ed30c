// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/question"
)

// ViewColumn is a column of View.
type ViewColumn struct{ Name, Meaning string }

// View returns a SELECT of all lifecycles for people, with the columns of question.Fields: times as
// text in UTC, lengths in seconds, a list as a JSON array and a map as a JSON object. A dot in a name
// is an underscore. start_ns has the number that the indexes have. The fields of steps are left out: each
// row of SELECT * would search the steps 26 times, and the view of spans has them.
func View() (query string, columns []ViewColumn) {
	var selected []string
	add := func(sql, name, meaning string) {
		selected = append(selected, sql+` AS "`+name+`"`)
		columns = append(columns, ViewColumn{name, meaning})
	}
	var d Dialect
	for _, f := range question.Fields() {
		if f.Table == question.Steps {
			continue
		}
		sql, name, meaning := "", strings.ReplaceAll(f.Name, ".", "_"), f.Meaning
		switch f.Type {
		case question.List:
			sql = "(SELECT json_group_array(m." + f.Column + ") FROM " + f.Table + " AS m WHERE m.lifecycle = l.id)"
			meaning += ", a JSON array"
		case question.Map:
			sql = "(SELECT json_group_object(m." + f.Column + ", m.value) FROM " + f.Table +
				" AS m WHERE m.lifecycle = l.id)"
			meaning += ", a JSON object"
		case question.Timestamp:
			sql = Moment(d.Field(&f))
		case question.Duration:
			sql = Seconds(d.Field(&f))
			meaning += ", in seconds"
		case question.Bool, question.Int, question.String:
			sql = d.Field(&f)
		}
		add(sql, name, meaning)
		if f.Type == question.Timestamp {
			meaning := "the same in nanoseconds since 1970"
			if f.Column == "start" {
				meaning += "; conditions on it can use an index"
			}
			add(d.Field(&f), name+"_ns", meaning)
		}
	}
	add("lower(hex(l.span))", "span", "ID of the span, in lower case")
	query = strings.Join(selected, ", ")
	return "SELECT " + query + " FROM " + From(query), columns
}

// Moment returns the SQL of a time as text in UTC, with milliseconds, from nanoseconds since 1970.
func Moment(nanos string) string {
	return "strftime('%Y-%m-%dT%H:%M:%fZ', " + nanos + " / 1e9, 'unixepoch')"
}

// Seconds returns the SQL of a length in seconds, from nanoseconds.
func Seconds(nanos string) string { return nanos + " / 1e9" }
