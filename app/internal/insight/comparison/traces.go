// SPDX-License-Identifier: Apache-2.0

// Package comparison says in which phase two traces or two sets of lifecycles differ, and which circumstances differ
// with them.
package comparison

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/insight/sample"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// OfTraces is the comparison of two traces on their critical paths.
type OfTraces struct {
	// Total is that of the roots. Its lengths and its difference are exactly the sums of the rows.
	Total Row
	// Rows has one row for each kind of work on either path, the largest difference first.
	Rows []Row
	// Differs has the circumstances that differ, sorted by name.
	Differs []Circumstance
}

// Row is one kind of work in two traces.
type Row struct {
	// Name is that of a phase in questions, or of a span. It is sample.Total for the whole.
	Name string
	A, B time.Duration
	// Difference is B less A.
	Difference time.Duration
}

// Circumstance has the values of one attribute that only one of two traces has.
type Circumstance struct {
	// Name is one of those in package sample.
	Name string
	// A and B are sorted. Both may be empty: then one trace lacks the attribute.
	A, B []string
}

// Traces compares the critical paths of two traces. Open spans extend to asOf.
func Traces(a, b *span.Trace, asOf time.Time) OfTraces {
	rows := map[string]Row{}
	total := Row{Name: sample.Total}
	for _, s := range insight.CriticalPath(a, asOf) {
		row := rows[work(s.Span)]
		row.A += s.Duration()
		rows[work(s.Span)] = row
		total.A += s.Duration()
	}
	for _, s := range insight.CriticalPath(b, asOf) {
		row := rows[work(s.Span)]
		row.B += s.Duration()
		rows[work(s.Span)] = row
		total.B += s.Duration()
	}
	total.Difference = total.B - total.A
	out := OfTraces{Total: total, Differs: differs(a, b)}
	for name, row := range rows {
		row.Name, row.Difference = name, row.B-row.A
		out.Rows = append(out.Rows, row)
	}
	slices.SortFunc(out.Rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(magnitude(b.Difference), magnitude(a.Difference)), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func magnitude(d time.Duration) time.Duration { return max(d, -d) }

// work returns the kind of work of a span: the phase, or the name of another span.
func work(s *span.Span) string {
	for _, p := range span.Phases() {
		if p.Span == s.Name {
			return p.Name
		}
	}
	if s.Detail() == "" {
		return insight.Label(s)
	}
	return s.Name
}

// differs returns the circumstances that differ between two traces.
func differs(a, b *span.Trace) []Circumstance {
	inA, inB := circumstances(a), circumstances(b)
	names := map[string]Circumstance{}
	for v := range inA {
		if !inB[v] {
			c := names[v.Name]
			c.A = append(c.A, v.Value)
			names[v.Name] = c
		}
	}
	for v := range inB {
		if !inA[v] {
			c := names[v.Name]
			c.B = append(c.B, v.Value)
			names[v.Name] = c
		}
	}
	var out []Circumstance
	for _, name := range slices.Sorted(maps.Keys(names)) {
		c := names[name]
		c.Name = name
		slices.Sort(c.A)
		slices.Sort(c.B)
		out = append(out, c)
	}
	return out
}

// ofSpans are the circumstances that are attributes of reconciliations.
var ofSpans = map[attribute.Key]string{
	span.KeyInstanceType: sample.InstanceType, span.KeyKubelet: sample.Kubelet, span.KeyNodePool: sample.NodePool,
	span.KeyScheduler: sample.Scheduler, span.KeyStorageClasses: sample.StorageClass, span.KeyReplicas: sample.Replicas,
}

// circumstances returns those of all reconciliations of a trace.
func circumstances(t *span.Trace) map[sample.Attribute]bool {
	out := map[sample.Attribute]bool{}
	add := func(name, value string) {
		if value != "" {
			out[sample.Attribute{Name: name, Value: value}] = true
		}
	}
	if root := t.Root(); root != nil {
		add(sample.Author, insight.Attribute(root, span.KeyActorUser))
	}
	for _, edit := range insight.Edits(t) {
		add(sample.Changed, edit)
	}
	for _, s := range t.Spans {
		if s.Facts == nil {
			continue
		}
		for key, name := range ofSpans {
			if list := insight.List(s, key); len(list) > 0 {
				for _, value := range list {
					add(name, value)
				}
				continue
			}
			add(name, insight.Attribute(s, key))
		}
		pod := s.Facts.Pod
		if pod == nil {
			continue
		}
		add(sample.Requests, requests(s))
		runtime := insight.Attribute(s, span.KeyRuntime)
		if version := insight.Attribute(s, span.KeyRuntimeVersion); version != "" {
			runtime += span.RuntimeSeparator + version
		}
		add(sample.Runtime, runtime)
		add(sample.Node, pod.Node)
		add(sample.Zone, pod.Zone)
		add(sample.Volumes, strconv.FormatInt(pod.Volumes, 10))
		for _, image := range pod.Images {
			add(sample.Image, image)
			add(sample.Registry, sample.RegistryOf(image))
		}
	}
	return out
}

// requests returns the requests of a Pod in words: "cpu 250m, memory 64Mi".
func requests(pod *span.Span) string {
	var parts []string
	if insight.Attribute(pod, span.KeyCPU) != "" {
		parts = append(parts, fmt.Sprintf("cpu %dm", insight.Number(pod, span.KeyCPU)))
	}
	if insight.Attribute(pod, span.KeyMemory) != "" {
		const mebi = 1 << 20
		parts = append(parts, fmt.Sprintf("memory %dMi", (insight.Number(pod, span.KeyMemory)+mebi-1)/mebi))
	}
	return strings.Join(parts, ", ")
}
