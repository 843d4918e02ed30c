// SPDX-License-Identifier: Apache-2.0

// Package statistic has the tests and intervals by which lengths are compared. Distributions come from gonum and
// golang.org/x/perf/benchmath. The package knows numbers only, and is pure.
package statistic

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
	"gonum.org/v1/gonum/stat/distuv"
)

// Enough is the smallest number of samples on one side of a comparison. With fewer, even two sets without overlap
// differ by chance too often.
const Enough = 8

// Confidence is that of all intervals.
const Confidence = 0.95

// Estimate is a value and the interval that has the true one with Confidence.
type Estimate struct{ Center, Low, High float64 }

// Median returns the median of ascending values with its exact interval, by order statistics. Below six values the
// interval is that of all values. It panics without values.
func Median(ascending []float64) Estimate { return median(ascending, Confidence) }

func median(ascending []float64, confidence float64) Estimate {
	s := benchmath.AssumeNothing.Summary(sampleOf(ascending), confidence)
	return Estimate{
		Center: s.Center,
		Low:    max(s.Lo, ascending[0]),
		High:   min(s.Hi, ascending[len(ascending)-1]),
	}
}

// Difference returns the median of b less that of a. Its interval is that between the bounds of both medians, which is
// wider than needed.
func Difference(a, b []float64) Estimate {
	both := 1 - (1-Confidence)/2
	x, y := median(a, both), median(b, both)
	return Estimate{Center: y.Center - x.Center, Low: y.Low - x.High, High: y.High - x.Low}
}

// Test returns the probability of a difference at least as large as that between two sets of ascending values, if
// both have the same distribution: the Mann–Whitney test, with two sides. It is 1 for an empty set.
func Test(a, b []float64) float64 {
	return min(1, benchmath.AssumeNothing.Compare(sampleOf(a), sampleOf(b)).P)
}

func sampleOf(ascending []float64) *benchmath.Sample {
	return &benchmath.Sample{Values: ascending, Thresholds: &benchmath.DefaultThresholds}
}

// Shares returns the probability of a difference at least as large as that between two shares, a of m and b of n, if
// both sets have the same share.
func Shares(a, m, b, n int) float64 {
	if m == 0 || n == 0 {
		return 1
	}
	all := float64(a+b) / float64(m+n)
	deviation := math.Sqrt(all * (1 - all) * (1/float64(m) + 1/float64(n)))
	if deviation == 0 {
		return 1
	}
	return twoSided((float64(a)/float64(m) - float64(b)/float64(n)) / deviation)
}

func twoSided(z float64) float64 { return 2 * distuv.UnitNormal.Survival(math.Abs(z)) }

// Correct returns the largest of the probabilities that stays a discovery at a level, by Benjamini and Hochberg: of
// all discoveries, at most that share is false. Those up to the result are discoveries; it is negative without any.
// The argument is sorted.
func Correct(probabilities []float64, level float64) float64 {
	slices.Sort(probabilities)
	for i, p := range slices.Backward(probabilities) {
		if p <= level*float64(i+1)/float64(len(probabilities)) {
			return p
		}
	}
	return -1
}

// nearest is the number of values on each side of a shift that its estimate uses.
const nearest = 64

// Shift returns the estimate of Hodges and Lehmann for the shift between two series of values: the median of all
// differences of pairs. Its interval inverts the Mann–Whitney test. It uses the last values before the shift, and the
// first after it. Both must not be empty.
func Shift(before, after []float64) Estimate {
	before, after = before[max(0, len(before)-nearest):], after[:min(len(after), nearest)]
	m, n := float64(len(before)), float64(len(after))
	pairs := make([]float64, 0, len(before)*len(after))
	for _, a := range before {
		for _, b := range after {
			pairs = append(pairs, b-a)
		}
	}
	slices.Sort(pairs)
	z := distuv.UnitNormal.Quantile(1 - (1-Confidence)/2)
	low := int(math.Floor(m*n/2 - z*math.Sqrt(m*n*(m+n+1)/12)))
	low = min(max(low, 0), (len(pairs)-1)/2)
	return Estimate{
		Center: (pairs[(len(pairs)-1)/2] + pairs[len(pairs)/2]) / 2,
		Low:    pairs[low],
		High:   pairs[len(pairs)-1-low],
	}
}

// Middle returns the median of values, or 0 without any. It sorts them.
func Middle(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return 0
	}
	slices.Sort(values)
	return values[(n-1)/2]/2 + values[n/2]/2
}
