// SPDX-License-Identifier: Apache-2.0

package api

import (
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/insight/comparison"
	"github.com/kube-lifeline/lifeline/app/internal/insight/statistic"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// The verdicts of rows.
const (
	VerdictSlower  = "slower"
	VerdictFaster  = "faster"
	VerdictSame    = "same"
	VerdictUnknown = "unknown"
)

// verdicts are those of comparison in JSON.
var verdicts = map[comparison.Verdict]string{
	comparison.Slower: VerdictSlower, comparison.Faster: VerdictFaster, comparison.NoDifference: VerdictSame,
	comparison.CannotTell: VerdictUnknown,
}

// comparedTraces returns the comparison of two traces, without its sides.
func comparedTraces(of comparison.OfTraces) *Comparison {
	out := &Comparison{
		Of:          OfTraces,
		Total:       rowOf(of.Total, of.Total),
		Rows:        []ComparedRow{},
		Differences: []Difference{},
	}
	for _, row := range of.Rows {
		out.Rows = append(out.Rows, rowOf(row, of.Total))
	}
	for _, c := range of.Differs {
		d := Difference{Attribute: c.Name, A: []ValueCount{}, B: []ValueCount{}}
		for _, v := range c.A {
			d.A = append(d.A, ValueCount{object.Bound(v), 1})
		}
		for _, v := range c.B {
			d.B = append(d.B, ValueCount{object.Bound(v), 1})
		}
		out.Differences = append(out.Differences, d)
	}
	return out
}

// rowOf returns a row without statistics.
func rowOf(row, total comparison.Row) ComparedRow {
	side := func(d, of time.Duration) ComparedLength {
		out := ComparedLength{Length: Seconds(d), Share: share(d, of)}
		if d != 0 || row == total {
			out.Count = 1
		}
		return out
	}
	return ComparedRow{
		Phase: row.Name, A: side(row.A, total.A), B: side(row.B, total.B), Difference: Seconds(row.Difference),
	}
}

func share(d, of time.Duration) float64 {
	if of <= 0 {
		return 0
	}
	return float64(d) / float64(of)
}

// comparedSets returns the comparison of two sets, without its sides.
func comparedSets(of comparison.OfSets) *Comparison {
	out := &Comparison{
		Of: OfSets, Total: setRowOf(of.Total, of.Total), Rows: []ComparedRow{}, Least: statistic.Enough,
		Differences: []Difference{},
	}
	for _, row := range of.Rows {
		out.Rows = append(out.Rows, setRowOf(row, of.Total))
	}
	rest := rowOf(of.Rest, comparison.Row{A: of.Total.A.Center, B: of.Total.B.Center})
	rest.A.Count, rest.B.Count = of.Total.A.Count, of.Total.B.Count
	out.Rows = append(out.Rows, rest)
	places := map[string]int{}
	for _, s := range of.Attributes {
		at, known := places[s.Name]
		if !known {
			at = len(out.Differences)
			places[s.Name] = at
			out.Differences = append(
				out.Differences,
				Difference{Attribute: s.Name, A: []ValueCount{}, B: []ValueCount{}},
			)
		}
		d := &out.Differences[at]
		if value := object.Bound(s.Value); s.A > 0 {
			d.A = append(d.A, ValueCount{value, s.A})
		}
		if value := object.Bound(s.Value); s.B > 0 {
			d.B = append(d.B, ValueCount{value, s.B})
		}
	}
	return out
}

func setRowOf(row, total comparison.SetRow) ComparedRow {
	side := func(m, of comparison.Median) ComparedLength {
		low, high := Seconds(m.Low), Seconds(m.High)
		out := ComparedLength{Length: Seconds(m.Center), Share: share(m.Center, of.Center), Count: m.Count}
		if m.Count > 0 {
			out.Low, out.High = &low, &high
		}
		return out
	}
	out := ComparedRow{
		Phase: row.Name, A: side(row.A, total.A), B: side(row.B, total.B), Difference: Seconds(row.Difference),
		Verdict: verdicts[row.Verdict], P: row.P,
	}
	if row.A.Count > 0 && row.B.Count > 0 {
		low, high := Seconds(row.Low), Seconds(row.High)
		out.Low, out.High = &low, &high
	}
	return out
}
