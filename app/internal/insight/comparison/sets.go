// SPDX-License-Identifier: Apache-2.0

package comparison

import (
	"cmp"
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/insight/sample"
	"github.com/kube-lifeline/lifeline/app/internal/insight/statistic"
)

// Level is the share of false verdicts among all that a comparison of sets gives.
const Level = 0.01

// OfSets is the comparison of two sets of lifecycles.
type OfSets struct {
	// A and B are the numbers of lifecycles.
	A, B int
	// Total is the row of sample.Total. Its medians and its difference are exactly the sums of those of Rows and Rest.
	Total SetRow
	// Rows has one row for each phase, the largest difference first.
	Rows []SetRow
	// Rest is the part of Total that no phase has. It is what remains of medians, and has no interval.
	Rest Row
	// Attributes has the attributes whose shares differ by more than chance, the largest difference first; at most
	// MaxAttributes.
	Attributes []Share
}

// MaxAttributes bounds the attributes of a comparison.
const MaxAttributes = 50

// SetRow is one phase in two sets.
type SetRow struct {
	Name string
	A, B Median
	// Difference is the median of B less that of A, between Low and High.
	Difference, Low, High time.Duration
	// P is the probability of such a difference in the absence of one. It is 1 for CannotTell.
	P       float64
	Verdict Verdict
}

// Median is the median length of a phase, over the lifecycles that have the phase.
type Median struct {
	// Count is the number of these lifecycles.
	Count int
	// Center is between Low and High.
	Center, Low, High time.Duration
}

// Verdict is the answer of one row.
type Verdict string

// The verdicts. Slower and Faster say that B differs from A by more than chance.
const (
	Slower Verdict = "slower"
	Faster Verdict = "faster"
	// CannotTell: a set has fewer than statistic.Enough samples.
	CannotTell Verdict = "cannot tell"
	// NoDifference: chance alone makes such differences.
	NoDifference Verdict = "no difference by more than chance"
)

// Share is the share of the lifecycles with an attribute, in both sets.
type Share struct {
	sample.Attribute
	// A and B are numbers of lifecycles.
	A, B int
}

// Sets compares two sets of lifecycles. Their order does not matter.
func Sets(a, b []sample.Lifecycle) OfSets {
	out := OfSets{A: len(a), B: len(b), Attributes: shares(a, b)}
	inA, inB := lengths(a), lengths(b)
	names := map[string]bool{sample.Total: true}
	for name := range inA {
		names[name] = true
	}
	for name := range inB {
		names[name] = true
	}
	rows := make([]SetRow, 0, len(names))
	for name := range names {
		rows = append(rows, compare(name, inA[name], inB[name]))
	}
	judge(rows)
	slices.SortFunc(rows, func(a, b SetRow) int {
		return cmp.Or(cmp.Compare(magnitude(b.Difference), magnitude(a.Difference)), cmp.Compare(a.Name, b.Name))
	})
	out.Rest.Name = "rest"
	for _, row := range rows {
		if row.Name == sample.Total {
			out.Total = row
			out.Rest.A += row.A.Center
			out.Rest.B += row.B.Center
			continue
		}
		out.Rows = append(out.Rows, row)
		out.Rest.A -= row.A.Center
		out.Rest.B -= row.B.Center
	}
	out.Rest.Difference = out.Rest.B - out.Rest.A
	return out
}

// lengths returns the lengths of each phase, ascending.
func lengths(lifecycles []sample.Lifecycle) map[string][]float64 {
	out := map[string][]float64{}
	for _, l := range lifecycles {
		for name, d := range l.Phases {
			out[name] = append(out[name], float64(d))
		}
	}
	for _, values := range out {
		slices.Sort(values)
	}
	return out
}

func compare(name string, a, b []float64) SetRow {
	row := SetRow{Name: name, A: median(a), B: median(b), P: 1, Verdict: CannotTell}
	row.Difference = row.B.Center - row.A.Center
	row.Low, row.High = row.Difference, row.Difference
	if len(a) > 0 && len(b) > 0 {
		d := statistic.Difference(a, b)
		row.Low, row.High = time.Duration(d.Low), time.Duration(d.High)
	}
	if min(len(a), len(b)) >= statistic.Enough {
		row.P, row.Verdict = statistic.Test(a, b), NoDifference
	}
	return row
}

func median(ascending []float64) Median {
	if len(ascending) == 0 {
		return Median{}
	}
	m := statistic.Median(ascending)
	return Median{
		Count:  len(ascending),
		Center: time.Duration(m.Center), Low: time.Duration(m.Low), High: time.Duration(m.High),
	}
}

// judge sets the verdicts of the rows with enough samples, corrected for their number.
func judge(rows []SetRow) {
	var all []float64
	for _, row := range rows {
		if row.Verdict != CannotTell {
			all = append(all, row.P)
		}
	}
	cut := statistic.Correct(all, Level)
	for i := range rows {
		switch row := &rows[i]; {
		case row.Verdict == CannotTell, row.P > cut, row.Difference == 0:
		case row.Difference > 0:
			row.Verdict = Slower
		default:
			row.Verdict = Faster
		}
	}
}

// least is the smallest difference of shares that is shown.
const least = 0.1

// shares returns the attributes whose shares differ.
func shares(a, b []sample.Lifecycle) []Share {
	counts := map[sample.Attribute]Share{}
	for _, l := range a {
		for _, v := range sample.WithRegistries(l.Attributes) {
			s := counts[v]
			s.A++
			counts[v] = s
		}
	}
	for _, l := range b {
		for _, v := range sample.WithRegistries(l.Attributes) {
			s := counts[v]
			s.B++
			counts[v] = s
		}
	}
	if min(len(a), len(b)) == 0 {
		return nil
	}
	difference := func(s Share) float64 { return float64(s.B)/float64(len(b)) - float64(s.A)/float64(len(a)) }
	probability := func(s Share) float64 { return statistic.Shares(s.A, len(a), s.B, len(b)) }
	var out []Share
	all := make([]float64, 0, len(counts))
	for v, s := range counts {
		s.Attribute = v
		all = append(all, probability(s))
		if d := difference(s); max(d, -d) >= least {
			out = append(out, s)
		}
	}
	cut := statistic.Correct(all, Level)
	out = slices.DeleteFunc(out, func(s Share) bool { return probability(s) > cut })
	slices.SortFunc(out, func(x, y Share) int {
		dx, dy := difference(x), difference(y)
		return cmp.Or(cmp.Compare(max(dy, -dy), max(dx, -dx)), x.Attribute.Compare(y.Attribute))
	})
	return out[:min(len(out), MaxAttributes)]
}
