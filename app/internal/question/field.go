// SPDX-License-Identifier: Apache-2.0

package question

import (
	"slices"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/reason"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Field is a value of a lifecycle that a question may use.
type Field struct {
	// Name is the name in a question, such as "kind" or "phase.pull".
	Name string
	Type Type
	// Optional: a lifecycle may lack the value. An expression with a missing value is an error of
	// CEL, and the lifecycle does not match.
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

	// value returns the value of a lifecycle, or nil if it is missing.
	value func(*Lifecycle) any
	// set is the inverse of Stored, for a field of the table of lifecycles.
	set func(*Lifecycle, any)
}

// The tables of an archive.
const (
	Lifecycles = "lifecycles"
	Images     = "lifecycle_images"
	Labels     = "lifecycle_labels"
	Traces     = "traces"
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

// verbs are the values of verb.
var verbs = []string{"create", "update", "delete"}

// fields is the table of all fields: the only source for questions, documents and completion.
var fields = append([]Field{
	text(
		"kind",
		"kind",
		"kind of the object, such as `Pod`",
		func(l *Lifecycle) *string { return &l.Object.Kind.Kind },
	),
	text("group", "api_group", "API group of the object; empty for the core group",
		func(l *Lifecycle) *string { return &l.Object.Group }),
	text("namespace", "namespace", "namespace of the object; empty for an object of the cluster",
		func(l *Lifecycle) *string { return &l.Object.Namespace }),
	text("name", "name", "name of the object", func(l *Lifecycle) *string { return &l.Object.Name }),
	text("uid", "uid", "UID of the object", func(l *Lifecycle) *string { return (*string)(&l.Object.UID) }),
	text("workload", "workload", "kind and name of its workload, such as `Deployment/web`",
		func(l *Lifecycle) *string { return &l.Workload }),
	oneOfFew(verbs, text("verb", "verb", "verb of the first write", func(l *Lifecycle) *string { return &l.Verb })),
	text("actor", "actor", "component that wrote", func(l *Lifecycle) *string { return &l.Actor }),
	text("user", "user", "user of the request, from the audit log", func(l *Lifecycle) *string { return &l.User }),
	oneOfFew(span.Outcomes, text(outcome, "outcome",
		"`converged`, `superseded`, `failed`, `deleted` or `unfinished`; empty for an open lifecycle",
		func(l *Lifecycle) *string { return &l.Outcome })),
	oneOfFew(reason.Names(), text(
		"reason",
		"reason",
		"category of the reason; empty without one",
		func(l *Lifecycle) *string { return &l.Reason },
	)),
	{
		Name: "start", Type: Timestamp, Table: Lifecycles, Column: "start", Meaning: "first write",
		value: func(l *Lifecycle) any { return within(l.Start) },
		set:   setInt(func(l *Lifecycle, n int64) { l.Start = time.Unix(0, n).UTC() }),
	},
	{
		Name: "duration", Type: Duration, Table: Lifecycles, Column: "duration",
		Meaning: "first write → outcome, or until now",
		value:   func(l *Lifecycle) any { return l.Duration },
		set:     setInt(func(l *Lifecycle, n int64) { l.Duration = time.Duration(n) }),
	},
	{
		Name: End, Type: Timestamp, Optional: true, Meaning: "outcome of a finished lifecycle",
		value: endOf,
	},
	{
		Name: "volumes", Type: Int, Optional: true, Table: Lifecycles, Column: "volumes",
		Meaning: "number of volumes of a Pod", value: func(l *Lifecycle) any { return number(l.Volumes) },
		set: setInt(func(l *Lifecycle, n int64) { l.Volumes = &n }),
	},
	text("node", "node", "node of a Pod; empty without one", func(l *Lifecycle) *string { return &l.Node }),
	text("zone", "zone", "zone of that node; empty if unknown", func(l *Lifecycle) *string { return &l.Zone }),
	text("region", "region", "region of that node; empty if unknown", func(l *Lifecycle) *string { return &l.Region }),
	text("instance_type", "instance_type", "machine type of that node, such as `m7i.large`; empty if unknown",
		func(l *Lifecycle) *string { return &l.InstanceType }),
	text("runtime", "runtime", "container runtime of that node, such as `containerd://2.3.7`; empty if unknown",
		func(l *Lifecycle) *string { return &l.Runtime }),
	{
		Name: "images", Type: List, Table: Images, Column: "image", Meaning: "images of a Pod's containers",
		value: func(l *Lifecycle) any { return l.Images },
	},
	{
		Name: labels, Type: Map, Table: Labels, Column: "label", Meaning: "labels of the configured keys",
		value: func(l *Lifecycle) any { return l.Labels },
	},
	{
		Name: "trace", Type: String, Table: Traces, Column: "id", Meaning: "ID of the trace, in lower case",
		value: func(l *Lifecycle) any { return l.Trace.String() },
	},
	{
		Name: "heals", Type: String, Table: Traces, Column: "heals",
		Meaning: "cause of a change that the cluster made by itself; empty for others",
		value:   func(l *Lifecycle) any { return l.Heals },
	},
}, slices.Concat(phaseFields(), stepFields())...)

// text returns a field of the table of lifecycles.
func text(name, column, meaning string, of func(*Lifecycle) *string) Field {
	return Field{
		Name: name, Type: String, Table: Lifecycles, Column: column, Meaning: meaning,
		value: func(l *Lifecycle) any { return *of(l) },
		set: func(l *Lifecycle, v any) {
			if s, is := v.(string); is {
				*of(l) = s
			}
		},
	}
}

// oneOfFew returns the field with its values.
func oneOfFew[T ~string](values []T, f Field) Field {
	for _, v := range values {
		f.Values = append(f.Values, string(v))
	}
	return f
}

// setInt returns a function that sets a number.
func setInt(set func(*Lifecycle, int64)) func(*Lifecycle, any) {
	return func(l *Lifecycle, v any) {
		if n, is := v.(int64); is {
			set(l, n)
		}
	}
}

// phaseFields returns one field a phase.
func phaseFields() []Field {
	var out []Field
	for _, p := range Phases() {
		out = append(out, Field{
			Name: phase + "." + p.Name, Type: Duration, Optional: true,
			Table: Lifecycles, Column: "phase_" + p.Name, Meaning: p.Meaning,
			value: func(l *Lifecycle) any { return phaseLength(l.Phases, p.Name) },
			set: setInt(func(l *Lifecycle, n int64) {
				if l.Phases == nil {
					l.Phases = map[string]time.Duration{}
				}
				l.Phases[p.Name] = time.Duration(n)
			}),
		})
	}
	return out
}

// number returns the number, or nil.
func number(n *int64) any {
	if n == nil {
		return nil
	}
	return *n
}

// phaseLength returns the length of a phase, or nil.
func phaseLength(phases map[string]time.Duration, name string) any {
	if d, ok := phases[name]; ok {
		return d
	}
	return nil
}

// byName has the fields by name, that of a reserved name by its spelling for CEL, too.
var byName = func() map[string]*Field {
	out := map[string]*Field{}
	for i := range fields {
		out[fields[i].Name] = &fields[i]
	}
	out[unreserved] = out[reserved]
	return out
}()

// Fields returns all fields, in the order of the documents.
func Fields() []Field { return slices.Clone(fields) }

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

// Set sets the value of a lifecycle to one that Stored returned. It has no effect on fields of other
// tables, nor for nil.
func (f Field) Set(l *Lifecycle, v any) {
	if f.set != nil {
		f.set(l, v)
	}
}

// Stored returns the value of a lifecycle as an archive keeps it: a string, an int64 (see Type), or
// nil if it is missing. It returns nil for a list or a map.
func (f Field) Stored(l *Lifecycle) any {
	switch v := f.value(l).(type) {
	case string, int64:
		return v
	case time.Time:
		return v.UnixNano()
	case time.Duration:
		return v.Nanoseconds()
	}
	return nil
}
