// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/insight/sample"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/rights"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Rollup is a sample.Rollup with the objects that its facts are about. In returns what a scope permits of it.
type Rollup struct {
	sample.Rollup
	// Object is the object of the lifecycles. Those of a workload have a kind and a namespace only.
	Object object.Ref
	// Root is the object of the change: the author is a fact about it. Of a Namespace it has the name, and of others
	// the kind and namespace.
	Root object.Ref
	// Healed is the lost object of a change that the cluster made by itself; zero for others.
	Healed object.Ref
	// Above is the object of Workload, if it is in another namespace or in none; zero for others.
	Above object.Ref
}

const (
	// MaxRollups bounds the rollups of one trace.
	MaxRollups = 1000
	// maxValues bounds the values of one attribute of a lifecycle.
	maxValues = 16
	// precision is the unit of lengths in a Rollup.
	precision = time.Microsecond
)

// attributeField is an attribute and its field of questions.
type attributeField struct{ attribute, field string }

// attributeFields are the attributes of samples, sorted. Requests has no field of its own.
var attributeFields = []attributeField{
	{sample.Author, "author"}, {sample.Changed, "changed"}, {sample.Image, "images"},
	{sample.InstanceType, "instance_type"}, {sample.Kubelet, "kubelet"}, {sample.Node, "node"},
	{sample.NodePool, "node_pool"}, {sample.Replicas, "replicas"}, {sample.Requests, ""}, {sample.Runtime, "runtime"},
	{sample.Scheduler, "scheduler"}, {sample.StorageClass, "storage_classes"}, {sample.Volumes, "volumes"},
	{sample.Zone, "zone"},
}

// attributesOf has the fields by attribute.
var attributesOf = func() map[string]string {
	out := map[string]string{}
	for _, a := range attributeFields {
		if a.field != "" {
			out[a.attribute] = a.field
		}
	}
	return out
}()

// ofNodes are the attributes that are facts about a Node.
var ofNodes = []string{sample.Zone, sample.InstanceType, sample.NodePool, sample.Runtime, sample.Kubelet}

// SampleOf returns a lifecycle as a sample. The result is false for one that teaches nothing: it has not ended, it
// ended before its desired state for another reason, or it converged at once, as that of a ConfigMap does. Its first
// claim with a result counts. So one that converged after a failure is no sample.
func SampleOf(l *Lifecycle) (sample.Lifecycle, bool) {
	return NewSample(l.Start, l.Duration, maps.Clone(l.Phases), func(field string) any {
		if field == "outcome" {
			return l.Outcome
		}
		return l.Values[field]
	})
}

// NewSample is SampleOf for the parts of a lifecycle: value returns the outcome and the fields of data. The sample
// keeps the phases.
func NewSample(
	start time.Time, length time.Duration, phases map[string]time.Duration, value func(field string) any,
) (sample.Lifecycle, bool) {
	outcome, _ := value("outcome").(string)
	was, _ := value("was").(string)
	first := span.Outcome(cmp.Or(was, outcome))
	if first == span.Unfinished {
		first = span.Outcome(outcome)
	}
	if first != span.Converged && first != span.Deleted || length <= 0 && len(phases) == 0 {
		return sample.Lifecycle{}, false
	}
	if phases == nil {
		phases = map[string]time.Duration{}
	}
	phases[sample.Total] = length
	out := sample.Lifecycle{Start: start, Phases: phases}
	out.Attributes = make([]sample.Attribute, 0, len(attributeFields)+1)
	for _, a := range attributeFields {
		if a.attribute == sample.Requests {
			out.Attributes = appendValues(out.Attributes, a.attribute, requests(value("cpu"), value("memory")))
			continue
		}
		out.Attributes = appendValues(out.Attributes, a.attribute, value(a.field))
	}
	return out, true
}

// appendValues appends the values of a field as attributes.
func appendValues(to []sample.Attribute, name string, v any) []sample.Attribute {
	switch v := v.(type) {
	case string:
		if v != "" {
			to = append(to, sample.Attribute{Name: name, Value: v})
		}
	case int64:
		to = append(to, sample.Attribute{Name: name, Value: strconv.FormatInt(v, 10)})
	case []string:
		for _, one := range v[:min(len(v), maxValues)] {
			to = append(to, sample.Attribute{Name: name, Value: one})
		}
	}
	return to
}

// requests returns the requests of a Pod as one text, such as "cpu 500m, memory 256Mi"; empty without any.
func requests(cpu, memory any) string {
	var parts []string
	if milli, is := cpu.(int64); is {
		parts = append(parts, "cpu "+strconv.FormatInt(milli, 10)+"m")
	}
	if bytes, is := memory.(int64); is {
		const mebi = 1 << 20
		parts = append(parts, "memory "+strconv.FormatInt((bytes+mebi-1)/mebi, 10)+"Mi")
	}
	return strings.Join(parts, ", ")
}

// series is what the lifecycles of one Rollup share. Without a workload, each object has its own.
type series struct {
	object.Ref
	workload, verb string
}

// RollupsOf returns the rollups of a trace at the time asOf: one for each workload, kind and verb, and one for each
// object without a workload, at most MaxRollups. Their lengths have whole microseconds. A trace of which nothing has
// ended has none.
func RollupsOf(t *span.Trace, asOf time.Time) []Rollup { return RollupsIn(t, LifecyclesOf(t, asOf)) }

// RollupsIn is RollupsOf for the lifecycles of the trace. They stay unchanged.
func RollupsIn(t *span.Trace, all []Lifecycle) []Rollup {
	known := byPlace(all)
	samples := map[series][]sample.Lifecycle{}
	var order []series
	for i := range all {
		l := &all[i]
		one, is := SampleOf(l)
		if !is {
			continue
		}
		inherit(&one, known[place{l.Object.Namespace, l.Text("workload")}])
		of := series{l.Object, l.Text("workload"), l.Text("verb")}
		if of.workload != "" {
			of.Name, of.UID = "", ""
		}
		if samples[of] == nil {
			if len(order) == MaxRollups {
				continue
			}
			order = append(order, of)
		}
		samples[of] = append(samples[of], one)
	}
	var out []Rollup
	root, healed := rootOf(t)
	for _, of := range order {
		r := Rollup{
			Rollup: sample.Roll(sample.Rollup{
				Namespace: of.Namespace, Workload: of.workload, Kind: of.Kind.Kind, Verb: of.verb, Trace: t.ID,
				Heals: healed != (object.Ref{}),
			}, samples[of]),
			Object: of.Ref, Root: root, Healed: healed, Above: aboveOf(t, of),
		}
		r.Object.UID = ""
		r.Phases = truncated(r.Phases)
		for i := range r.Parts {
			r.Parts[i].Phases = truncated(r.Parts[i].Phases)
		}
		out = append(out, r)
	}
	return out
}

// place is where a workload is named.
type place struct{ namespace, workload string }

// byPlace returns the lifecycles of a trace by the place of their objects.
func byPlace(all []Lifecycle) map[place]*Lifecycle {
	out := make(map[place]*Lifecycle, len(all))
	for i := range all {
		o := &all[i].Object
		out[place{o.Namespace, o.Kind.Kind + "/" + o.Name}] = &all[i]
	}
	return out
}

// inherit adds what a change of the workload says about its objects: the changed fields and the replicas.
func inherit(to *sample.Lifecycle, from *Lifecycle) {
	if from == nil {
		return
	}
	for _, name := range []string{sample.Changed, sample.Replicas} {
		if !slices.ContainsFunc(to.Attributes, func(a sample.Attribute) bool { return a.Name == name }) {
			to.Attributes = appendValues(to.Attributes, name, from.Values[attributesOf[name]])
		}
	}
	slices.SortFunc(to.Attributes, sample.Attribute.Compare)
}

// rootOf returns the object of the change, and the one that it heals.
func rootOf(t *span.Trace) (root, healed object.Ref) {
	s := t.Root()
	if s == nil {
		return root, healed
	}
	root = validRef(s.Object)
	if root.UID = ""; !kind.Namespace.Is(root.Kind) {
		root.Name = ""
	}
	heals := func(kv attribute.KeyValue) bool { return kv.Key == span.KeyHeals }
	if i := slices.IndexFunc(s.Attributes, heals); i >= 0 {
		healed = validRef(rights.Named(s, s.Attributes[i]))
	}
	return root, healed
}

// aboveOf returns the workload of a series, if it is an object of the trace in another namespace.
func aboveOf(t *span.Trace, of series) (above object.Ref) {
	if of.workload == "" {
		return above
	}
	word, name, _ := strings.Cut(of.workload, "/")
	for o := range Objects(t) {
		if o.Name != name || o.Kind.Kind != word {
			continue
		}
		if o.Namespace == of.Namespace {
			return object.Ref{}
		}
		above = validRef(o)
		above.UID = ""
	}
	return above
}

// truncated returns phases with lengths in the unit of rollups.
func truncated(of sample.Phases) sample.Phases {
	for name, d := range of {
		of[name] = d.Truncate(precision)
	}
	return of
}

// In returns what a scope permits of a rollup; false means nothing. It never changes r.
func (r *Rollup) In(s Scope) (sample.Rollup, bool) {
	out := r.Rollup
	if slices.Contains(s.Except, r.Trace) || !s.Permits(r.Object) {
		return sample.Rollup{}, false
	}
	if s.Namespaces == nil && len(s.Without) == 0 {
		return out, true
	}
	var hidden []string
	if !s.Permits(object.Ref{Kind: kind.Node.Kind}) {
		hidden = append(hidden, ofNodes...)
	}
	root := s.Permits(r.Root)
	if !root {
		hidden = append(hidden, sample.Author)
	}
	out.Heals = out.Heals && root && s.Permits(r.Healed)
	if r.Above != (object.Ref{}) && !s.Permits(r.Above) {
		out.Workload = ""
	}
	if len(hidden) == 0 {
		return out, true
	}
	is := func(a sample.Attribute) bool { return slices.Contains(hidden, a.Name) }
	without := func(all []sample.Attribute) []sample.Attribute {
		return slices.DeleteFunc(slices.Clone(all), is)
	}
	out.Attributes, out.Parts = without(out.Attributes), slices.Clone(out.Parts)
	for i := range out.Parts {
		out.Parts[i].Attributes = without(out.Parts[i].Attributes)
	}
	return out, true
}

// CompareRollups is an order by start: negative if a comes before b. Only objects of one change without a workload
// may be equal in it.
func CompareRollups(a, b *sample.Rollup) int {
	return cmp.Or(
		a.Start.Compare(b.Start), slices.Compare(a.Trace[:], b.Trace[:]), cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Workload, b.Workload), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Verb, b.Verb),
	)
}

// SampleFields returns the fields of questions that become attributes of a sample.
func SampleFields() []string {
	return append(slices.Sorted(maps.Values(attributesOf)), "cpu", "memory")
}

// WithoutNode removes the facts about a Node from a sample.
func WithoutNode(l *sample.Lifecycle) {
	l.Attributes = slices.DeleteFunc(l.Attributes, func(a sample.Attribute) bool {
		return slices.Contains(ofNodes, a.Name)
	})
}
