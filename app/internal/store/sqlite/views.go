// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"fmt"
	"io"
	"strings"
	"sync"

	questions "github.com/kube-lifeline/lifeline/app/internal/question/sqlite"
)

// view is a table for people who write SQL. The tables of the archive may change; the views change
// only by further columns.
type view struct {
	name, meaning string
	columns       []questions.ViewColumn
	// query selects the columns.
	query string
}

// views returns all views.
var views = sync.OnceValue(func() []view {
	return append(append([]view{lifecyclesView()}, otherViews...), rollupsView())
})

// otherViews are the views without fields of questions.
var otherViews = []view{
	newView("v_traces", "one row for each finished trace", "traces AS t WHERE t.phase = 2",
		"id", "lower(hex(t.id))", "ID, in lower case",
		"start", questions.Moment("t.start"), "start, in UTC",
		"start_ns", "t.start", "the same in nanoseconds since 1970; conditions on it can use an index",
		"duration", questions.Seconds("t.duration"), "duration, in seconds",
		"outcome", "t.outcome", "outcome, as in `lifeline ls`",
		"was", "t.was", "outcome before a later claim; empty without one",
		"reason", "t.reason", "reason, in a sentence; empty without one",
		"category", "t.category", "category of the reason",
		"name", "t.name", "name of the root span",
		"api_group", "t.api_group", "API group of the root's object",
		"kind", "t.kind", "kind of that object",
		"namespace", "t.namespace", "namespace of that object",
		"object", "t.object_name", "name of that object",
		"uid", "t.uid", "UID of that object",
		"verb", "t.verb", "verb of the first write",
		"command", "t.command", "command of `lifeline run`",
		"actor", "t.actor", "component that made the change",
		"user", "t.user", "user of the request, from the audit log",
		"heals", "t.heals", "cause of a change that the cluster made by itself",
		"slowest", "t.slowest", "kind of work with most of the critical path",
		"slowest_duration", questions.Seconds("t.slowest_duration"), "its share, in seconds",
		"spans", "t.spans", "number of spans",
		"writes", "t.writes", "number of API writes",
		"pinned", "t.pinned", "1 if retention keeps the trace",
		"aftermath", "t.aftermath", "what happened to its Pods after its convergence, as JSON; NULL without anything",
	),
	newView(
		"v_writes",
		"one row for each stored API write",
		// The condition on k reads a column: see lifecyclesView.
		"writes AS w JOIN traces AS t ON t.num = w.trace AND t.phase = 2 JOIN write_kinds AS k ON k.num = w.kind"+
			" AND length(k.verb) >= 0 LEFT JOIN objects AS o ON o.trace = w.trace AND o.num = w.object",
		"trace", "lower(hex(t.id))", "ID of the trace",
		"span", "lower(hex(w.span))", "ID of the span",
		"end", questions.Moment("w.until"), "answer of the request, in UTC",
		"end_ns", "w.until", "the same in nanoseconds since 1970; conditions on it can use an index",
		"duration", questions.Seconds("(w.until - ifnull(w.start, w.until))"),
		"duration in seconds; 0 if the request was not seen",
		"api_group", "o.api_group", "API group of the object; empty for one that is not that of the span",
		"kind", "o.kind", "kind of the object",
		"namespace", "o.namespace", "namespace of the object",
		"object", "o.name", "name of the object",
		"uid", "o.uid", "UID of the object",
		"verb", "k.verb", "verb",
		"part", "k.part", "changed part: `desired`, `metadata`, `observed`, `bookkeeping` or `ownership`",
		"subresource", "k.subresource", "subresource",
		"resource_version", "w.rv", "version of the object; 0 if unknown",
		"generation", "w.generation", "generation of the object; 0 if unknown",
		"actor", "k.actor", "component that wrote",
		"user", "k.user", "user of the request, from the audit log",
		"audit_id", "ifnull(w.audit_id, '')", "ID of the request in the audit log; empty if unknown",
		"based_on", basedOn, "version of the object before the write; 0 if unknown, and for a creation",
		"changes", "w.changes", "changed fields as a JSON array of `path`, `operation` (`add`, `remove` or "+
			"`replace`), `from` and `to`; NULL without any",
		"more_changes", "w.more_changes", "number of further changed fields",
	),
	newView("v_spans", "one row for each span",
		fmt.Sprintf("traces AS t CROSS JOIN parts AS p ON p.num >= t.num << %d AND p.num < (t.num + 1) << %d"+
			" AND t.phase = 2 CROSS JOIN json_each(%s(p.data)) AS j", partBits, partBits, spansFunction),
		"trace", "lower(hex(t.id))", "ID of the trace",
		"span", column(0), "ID of the span",
		"parent", column(1), "ID of the parent; empty without one",
		"name", column(2), "name",
		"service", column(3), "component",
		"api_group", column(4), "API group of the object",
		"kind", column(5), "kind of the object",
		"namespace", column(6), "namespace of the object",
		"object", column(7), "name of the object",
		"start", questions.Moment("("+column(8)+")"), "start, in UTC",
		"end", questions.Moment("("+column(9)+")"), "end; NULL for a span without one",
		"duration", questions.Seconds("(("+column(9)+") - ("+column(8)+"))"), "duration, in seconds",
		"outcome", column(10), "outcome",
		"evidence", column(11), "evidence of the parent",
		"error", "("+column(12)+") = 1", "1 for an error",
		"message", column(13), "message of the error",
	),
}

// newView returns a view. Each column has a name, its SQL and its meaning.
func newView(name, meaning, from string, columns ...string) view {
	v := view{name: name, meaning: meaning}
	var selected []string
	for i := 0; i+2 < len(columns); i += 3 {
		selected = append(selected, columns[i+1]+` AS "`+columns[i]+`"`)
		v.columns = append(v.columns, questions.ViewColumn{Name: columns[i], Meaning: columns[i+2]})
	}
	v.query = "SELECT " + strings.Join(selected, ", ") + " FROM " + from
	return v
}

// lifecyclesView has the columns of the fields of questions.
func lifecyclesView() view {
	v := view{
		name: "v_lifecycles", meaning: "one row for each lifecycle: the fields of questions",
	}
	v.query, v.columns = questions.View()
	// Every lifecycle has a trace. SQLite does not tell the authorizer which view counts the rows of a table, unless
	// that reads a column.
	v.query += " WHERE l.trace > 0"
	return v
}

// WriteViews writes tables of all views in Markdown.
func WriteViews(w io.Writer) error {
	for i, v := range views() {
		separator := "\n"
		if i == 0 {
			separator = ""
		}
		_, err := fmt.Fprintf(w, "%s`%s`: %s.\n\n| column | meaning |\n| --- | --- |\n", separator, v.name, v.meaning)
		if err != nil {
			return err
		}
		for _, c := range v.columns {
			if _, err := fmt.Fprintf(w, "| `%s` | %s |\n", c.Name, c.Meaning); err != nil {
				return err
			}
		}
	}
	return nil
}
