// SPDX-License-Identifier: Apache-2.0

package regression

import (
	"bytes"
	"cmp"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/insight/sample"
)

// history is all rollups in a compact form, in the order of their start.
type history struct {
	records    []record
	attributes table[sample.Attribute]
	phases     table[string]
	owners     table[owner]
}

// owner is what the rollups of one series have in common, apart from the phase.
type owner struct{ cluster, namespace, workload, kind, verb string }

// table numbers values.
type table[V comparable] struct {
	numbers map[V]int32
	values  []V
}

func (t *table[V]) number(v V) int32 {
	n, ok := t.numbers[v]
	if !ok {
		if t.numbers == nil {
			t.numbers = map[V]int32{}
		}
		n = int32(len(t.values)) //nolint:gosec // a history has fewer values than that
		t.numbers[v], t.values = n, append(t.values, v)
	}
	return n
}

// record is a rollup.
type record struct {
	start time.Time
	trace trace.TraceID
	heals bool
	owner int32
	item
	parts []item
}

// item is a rollup or a part of it.
type item struct {
	lengths    []length
	attributes []int32
}

// length is that of one phase, in nanoseconds.
type length struct {
	phase int32
	value float64
}

func (i *item) length(phase int32) (float64, bool) {
	for _, l := range i.lengths {
		if l.phase == phase {
			return l.value, true
		}
	}
	return 0, false
}

func read(rollups iter.Seq[sample.Rollup], until time.Time) *history {
	h := &history{}
	for r := range rollups {
		if r.Count == 0 || !until.IsZero() && r.Start.After(until) {
			continue
		}
		next := record{
			start: r.Start, trace: r.Trace, heals: r.Heals, item: h.item(r.Phases, r.Attributes),
			owner: h.owners.number(owner{r.Cluster, r.Namespace, workload(r.Workload), r.Kind, r.Verb}),
		}
		for _, p := range r.Parts {
			next.parts = append(next.parts, h.item(p.Phases, p.Attributes))
		}
		h.records = append(h.records, next)
	}
	slices.SortStableFunc(h.records, h.compare)
	return h
}

// workload returns the workload of a series. Jobs and Pods that nothing owns mostly run once.
func workload(name string) string {
	if strings.HasPrefix(name, "Job/") || strings.HasPrefix(name, "Pod/") {
		return ""
	}
	return name
}

func (h *history) item(phases sample.Phases, attributes []sample.Attribute) item {
	out := item{lengths: make([]length, 0, len(phases)), attributes: make([]int32, 0, len(attributes))}
	for name, d := range phases {
		out.lengths = append(out.lengths, length{h.phases.number(name), float64(d)})
	}
	slices.SortFunc(out.lengths, func(a, b length) int {
		return cmp.Compare(h.phases.values[a.phase], h.phases.values[b.phase])
	})
	for _, a := range attributes {
		out.attributes = append(out.attributes, h.attributes.number(a))
	}
	return out
}

// compare orders records by their start. All else only makes the order of equal starts that of any input.
func (h *history) compare(a, b record) int {
	if c := cmp.Or(a.start.Compare(b.start), bytes.Compare(a.trace[:], b.trace[:])); c != 0 {
		return c
	}
	x, y := h.owners.values[a.owner], h.owners.values[b.owner]
	return cmp.Or(
		cmp.Compare(x.cluster, y.cluster), cmp.Compare(x.namespace, y.namespace), cmp.Compare(x.workload, y.workload),
		cmp.Compare(x.kind, y.kind), cmp.Compare(x.verb, y.verb), h.compareItems(&a.item, &b.item),
		slices.CompareFunc(a.parts, b.parts, func(a, b item) int { return h.compareItems(&a, &b) }),
	)
}

func (h *history) compareItems(a, b *item) int {
	return cmp.Or(
		slices.CompareFunc(a.lengths, b.lengths, func(a, b length) int {
			x, y := h.phases.values[a.phase], h.phases.values[b.phase]
			return cmp.Or(cmp.Compare(x, y), cmp.Compare(a.value, b.value))
		}),
		slices.CompareFunc(a.attributes, b.attributes, func(a, b int32) int {
			return h.attributes.values[a].Compare(h.attributes.values[b])
		}),
	)
}

// resolution is added before a logarithm: below it, ratios mean nothing.
const resolution = float64(10 * time.Millisecond)

func logarithm(length float64) float64 { return math.Log(max(length, 0) + resolution) }

// duration rounds nanoseconds, within the bounds of the type.
func duration(ns float64) time.Duration {
	const most = float64(math.MaxInt64)
	switch {
	case ns >= most:
		return math.MaxInt64
	case ns <= -most:
		return -math.MaxInt64
	}
	return time.Duration(math.Round(ns))
}
