// SPDX-License-Identifier: Apache-2.0

package api

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/insight/comparison"
	"github.com/kube-lifeline/lifeline/app/internal/insight/sample"
	problems "github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// startup is the phase of a Pod from its creation to Ready. It has other phases within it.
const startup = "startup"

// maxCompared bounds the lifecycles of one side of a comparison.
const maxCompared = 100_000

// What a comparison is about.
const (
	OfTraces = "traces"
	OfSets   = "sets"
)

// Comparison is the answer of /api/v1/compare. A is the first side, and B the second one.
type Comparison struct {
	// Of is traces or sets.
	Of string   `json:"of"`
	A  Compared `json:"a"`
	B  Compared `json:"b"`
	// Rows are the phases. Their differences add up to that of Total: of traces on the critical path, of sets as
	// medians with the row rest.
	Rows  []ComparedRow `json:"rows"`
	Total ComparedRow   `json:"total"`
	// Least is the number of samples that a side of a set needs for a verdict; absent for traces.
	Least int `json:"least,omitempty"`
	// Differences are the attributes whose values differ: of sets, those whose shares differ by more than chance.
	Differences []Difference `json:"differences"`
	// Change is the change that divides the sets; absent without one.
	Change *problems.Cause `json:"change,omitempty"`
}

// Compared is one side of a comparison: a trace, or the finished lifecycles of a question.
type Compared struct {
	Trace *Summary `json:"trace,omitempty"`
	// Where is the condition, and Namespace that of the objects; empty means all.
	Where     string `json:"where,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	// Since and Until bound the starts.
	Since *time.Time `json:"since,omitempty"`
	Until *time.Time `json:"until,omitempty"`
	// Count is the number of lifecycles; 1 for a trace. More means that others match, and were not read.
	Count int  `json:"count"`
	More  bool `json:"more,omitempty"`
}

// ComparedRow is one phase of both sides.
type ComparedRow struct {
	Phase string         `json:"phase"`
	A     ComparedLength `json:"a"`
	B     ComparedLength `json:"b"`
	// Difference is B less A. For sets, Low and High are its interval at 95 %, if there is one.
	Difference Seconds  `json:"difference"`
	Low        *Seconds `json:"low,omitempty"`
	High       *Seconds `json:"high,omitempty"`
	// Verdict is slower, faster, same (no difference by more than chance) or unknown (too few samples); absent for
	// traces and for the row rest.
	Verdict string `json:"verdict,omitempty"`
	// P is the probability of such a difference by chance.
	P float64 `json:"p,omitempty"`
}

// ComparedLength is the length of one phase on one side.
type ComparedLength struct {
	// Length is the length in a trace, or the median of a set, with the interval at 95 % from Low to High.
	Length Seconds  `json:"length"`
	Low    *Seconds `json:"low,omitempty"`
	High   *Seconds `json:"high,omitempty"`
	// Share is the part of the total length, from 0 to 1.
	Share float64 `json:"share"`
	// Count is the number of lifecycles with the phase.
	Count int `json:"count"`
}

// Difference is an attribute with different values on the two sides.
type Difference struct {
	Attribute string       `json:"attribute"`
	A         []ValueCount `json:"a"`
	B         []ValueCount `json:"b"`
}

// ValueCount is a value, and the number of lifecycles that have it.
type ValueCount struct {
	Value string `json:"value"`
	Count int    `json:"count"`
}

func (l *learned) compare(r *request) (any, error) {
	p := r.params
	a, b := p.text("a"), p.text("b")
	first, second := questionOf(p), store.FindQuery{Where: conditionOf(p, "and"), Now: p.now}
	before, after, change := p.moment("before"), p.moment("after"), p.text("change")
	namespace := p.text("namespace")
	if err := p.done(); err != nil {
		return nil, err
	}
	first.Namespace, second.Namespace = namespace, namespace
	switch {
	case (a == "") != (b == ""):
		return nil, problem(http.StatusBadRequest, `"a" and "b" go together: the IDs of two traces`)
	case a != "" && (first.Where != nil || second.Where != nil):
		return nil, problem(http.StatusBadRequest, `"a" and "b" do not go with questions`)
	case a != "":
		return compareTraces(r, a, b)
	case first.Where == nil:
		return nil, problem(
			http.StatusBadRequest,
			`nothing to compare: give the traces "a" and "b", or a question "where"`,
		)
	}
	var divides *problems.Cause
	if change != "" {
		if !before.IsZero() || !after.IsZero() {
			return nil, problem(http.StatusBadRequest, `"change" does not go with "before" and "after"`)
		}
		var err error
		if divides, err = changeNamed(r, change); err != nil {
			return nil, err
		}
		before, after = divides.Start, divides.Start
	}
	if err := divide(&first, &second, before, after); err != nil {
		return nil, err
	}
	var out *Comparison
	err := l.limit.Do(r.ctx(), func(ctx context.Context) (err error) {
		out, err = compareSets(ctx, r.access, first, second)
		return err
	})
	if err != nil {
		return nil, refused(err)
	}
	out.Change, out.A.Where, out.B.Where = divides, p.given.Get(
		"where",
	), cmp.Or(
		p.given.Get("and"),
		p.given.Get("where"),
	)
	return out, nil
}

// divide gives two questions their times: those of the first, or the times before and after a moment.
func divide(first, second *store.FindQuery, before, after time.Time) error {
	if before.IsZero() && after.IsZero() {
		if second.Where == nil {
			return problem(http.StatusBadRequest,
				`nothing to compare with: give a second question "and", or the times "before" and "after"`)
		}
		second.Since, second.Until = first.Since, first.Until
		return nil
	}
	if before.IsZero() {
		before = after
	}
	if after.IsZero() {
		after = before
	}
	if before.After(after) {
		return problem(http.StatusBadRequest, `"before" must not be later than "after"`)
	}
	if second.Where == nil {
		second.Where = first.Where
	}
	second.Since, second.Until = after, first.Until
	first.Until = before
	if first.Since.IsZero() {
		first.Since = before.Add(-store.DefaultRange)
	}
	return nil
}

// changeNamed returns the change with an ID, or with the beginning of one.
func changeNamed(r *request, text string) (*problems.Cause, error) {
	id, err := r.traceIDOf(text)
	if err != nil {
		return nil, err
	}
	found, err := r.access.Trace(r.ctx(), id)
	if err != nil {
		return nil, err
	}
	out := changeOf(found.Summary())
	return &out, nil
}

func compareTraces(r *request, a, b string) (any, error) {
	var ids [2]trace.TraceID
	var found [2]*store.Excerpt
	for i, text := range []string{a, b} {
		var err error
		if ids[i], err = r.traceIDOf(text); err != nil {
			return nil, err
		}
		if found[i], err = r.access.Trace(r.ctx(), ids[i]); err != nil {
			return nil, err
		}
	}
	asOf := found[0].Summary().AsOf
	if other := found[1].Summary().AsOf; other.After(asOf) {
		asOf = other
	}
	out := comparedTraces(comparison.Traces(found[0].Trace(), found[1].Trace(), asOf))
	first, second := SummaryOf(found[0].Summary()), SummaryOf(found[1].Summary())
	out.A, out.B = Compared{Trace: &first, Count: 1}, Compared{Trace: &second, Count: 1}
	return out, nil
}

func compareSets(ctx context.Context, access store.Access, a, b store.FindQuery) (*Comparison, error) {
	first, moreA, err := setOf(ctx, access, a)
	if err != nil {
		return nil, err
	}
	second, moreB, err := setOf(ctx, access, b)
	if err != nil {
		return nil, err
	}
	dropRare(first, second)
	out := comparedSets(comparison.Sets(first, second))
	out.A, out.B = comparedOf(&a, len(first), moreA), comparedOf(&b, len(second), moreB)
	return out, nil
}

func comparedOf(q *store.FindQuery, count int, more bool) Compared {
	return Compared{
		Namespace: q.Namespace, Since: momentOf(q.Earliest()), Until: momentOf(q.Until), Count: count, More: more,
	}
}

// setOf returns the finished lifecycles of a question, and whether others match.
func setOf(ctx context.Context, access store.Access, q store.FindQuery) (out []sample.Lifecycle, more bool, err error) {
	q.Limit = maxCompared + 1
	for one, err := range access.Samples(ctx, q) {
		switch {
		case err != nil:
			return nil, false, err
		case len(out) == maxCompared:
			return out, true, nil
		}
		out = append(out, one)
	}
	return out, false, context.Cause(ctx)
}

// dropRare removes the phases that are no row of two sets, so that the rows add up to the whole: startup, and the
// phases that fewer than half of the lifecycles of both sets have. The lifecycles get phases of their own.
func dropRare(a, b []sample.Lifecycle) {
	counts := map[string][2]int{}
	for side, set := range [][]sample.Lifecycle{a, b} {
		for i := range set {
			for phase := range set[i].Phases {
				n := counts[phase]
				n[side]++
				counts[phase] = n
			}
		}
	}
	rare := map[string]bool{startup: true}
	for phase, n := range counts {
		if 2*n[0] < len(a) && 2*n[1] < len(b) {
			rare[phase] = true
		}
	}
	for _, set := range [][]sample.Lifecycle{a, b} {
		for i := range set {
			if !hasAny(set[i].Phases, rare) {
				continue
			}
			set[i].Phases = maps.Clone(set[i].Phases)
			maps.DeleteFunc(set[i].Phases, func(phase string, _ time.Duration) bool { return rare[phase] })
		}
	}
}

func hasAny(of sample.Phases, phases map[string]bool) bool {
	for phase := range of {
		if phases[phase] {
			return true
		}
	}
	return false
}
