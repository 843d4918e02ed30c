// SPDX-License-Identifier: Apache-2.0

package regression

import (
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/kube-lifeline/lifeline/app/internal/insight/statistic"
)

// shift is a shift in a series and its samples.
type shift struct {
	*series
	before, after segment
	// log is the shift of the logarithms.
	log float64
	// last is the start of the last sample after the shift.
	last time.Time
	Regression
}

// values returns the values whose logarithm or ratio shifts: logarithms of lengths, or residuals.
func (s *series) logarithms() []float64 {
	if s.residuals != nil {
		return s.residuals
	}
	out := make([]float64, len(s.lengths))
	for i, l := range s.lengths {
		out[i] = logarithm(l)
	}
	return out
}

// shifts returns the shifts of a series with splits.
func (h *history) shifts(s *series, o Options) []shift {
	segments, logs := s.segments(), s.logarithms()
	levels := make([]float64, len(segments))
	for i, g := range segments {
		levels[i] = statistic.Middle(slices.Clone(logs[g.from:g.to]))
	}
	var out []shift
	recovered := -1 // the segment with which a shift ended
	for i := 1; i < len(segments); {
		// All splits in the same direction may be one drift.
		last := i
		for last+1 < len(segments) && levels[last+1] > levels[last] == (levels[i] > levels[i-1]) {
			last++
		}
		before, after, drift := segments[i-1], segments[i], false
		if from, to, yes := ramp(logs, segments[i-1:last+1]); yes {
			before.to, after, drift = from, segment{to, segments[last].to}, true
		} else {
			last = i
		}
		next := h.shift(s, before, after, logs)
		next.Drift = drift
		if drift {
			next.Since = h.records[s.records[before.to]].start
		}
		if at := ended(levels, i-1, last); at > 0 {
			next.Ended, next.Until = true, h.records[s.records[segments[at].from]].start
			if !next.Faster {
				recovered = max(recovered, at)
			}
		}
		if next.large(o) && !(next.Faster && i <= recovered) {
			out = append(out, next)
		}
		i = last + 1
	}
	return out
}

// ended returns the segment with which the shift between two levels ended, and 0 for one that lasts: the last segment
// and that one are nearer to the former level.
func ended(levels []float64, before, after int) int {
	back := func(i int) bool {
		return (levels[i]-levels[before])/(levels[after]-levels[before]) < 0.5
	}
	if len(levels) == after+1 || !back(len(levels)-1) {
		return 0
	}
	for i := after + 1; i < len(levels); i++ {
		if back(i) {
			return i
		}
	}
	return 0
}

// shift measures the shift between two segments.
func (h *history) shift(s *series, before, after segment, logs []float64) shift {
	out := shift{series: s, before: before, after: after}
	log := statistic.Shift(logs[before.from:before.to], logs[after.from:after.to])
	out.log = log.Center
	out.Series, out.P, out.Faster = h.name(s), s.p, log.Center < 0
	out.Before, out.After = s.side(before), s.side(after)
	out.Since, out.last = h.records[s.records[after.from]].start, h.records[s.records[after.to-1]].start
	if s.residuals == nil {
		e := statistic.Shift(s.lengths[before.from:before.to], s.lengths[after.from:after.to])
		out.Effect, out.Low, out.High = duration(e.Center), duration(e.Low), duration(e.High)
		if out.Before.Median > 0 {
			out.Ratio = float64(out.After.Median) / float64(out.Before.Median)
		}
		return out
	}
	// The samples before and after are of different workloads. The effect is that on a typical length before.
	typical := float64(out.Before.Median) + resolution
	effect := func(log float64) float64 { return typical * (math.Exp(log) - 1) }
	out.Effect, out.Low, out.High = duration(effect(log.Center)), duration(effect(log.Low)), duration(effect(log.High))
	out.Ratio = math.Exp(log.Center)
	return out
}

func (s *series) side(g segment) Side {
	return Side{Count: g.to - g.from, Median: duration(statistic.Middle(slices.Clone(s.lengths[g.from:g.to])))}
}

// large reports whether a shift is worth a report: the interval excludes zero, and the size is above both bounds.
func (s *shift) large(o Options) bool {
	return s.Low > 0 == (s.High > 0) && s.Low != 0 && s.High != 0 &&
		max(s.Effect, -s.Effect) >= o.Effect && math.Abs(s.log) >= math.Log(o.Ratio)
}

// ramp reports whether values change slowly through the segments rather than at their borders, and returns the begin
// and the end of the slope. The Bayesian information criterion decides: a slope between two levels has four parameters,
// and steps have one for each place and each level.
func ramp(values []float64, segments []segment) (from, to int, yes bool) {
	first, last := segments[0], segments[len(segments)-1]
	stride := 1 + (last.to-first.from)/longest
	var y []float64
	var steps float64
	at, mean := 0, stat.Mean(values[first.from:first.to], nil)
	for i := first.from; i < last.to; i += stride {
		for i >= segments[at].to {
			at++
			mean = stat.Mean(values[segments[at].from:segments[at].to], nil)
		}
		y = append(y, values[i])
		steps += (values[i] - mean) * (values[i] - mean)
	}
	n := float64(len(y))
	criterion := func(squares, parameters float64) float64 {
		return n*math.Log(squares/n+math.SmallestNonzeroFloat64) + parameters*math.Log(n)
	}
	shortest := max(2*statistic.Enough, (last.to-first.from)/8) // a split is off by some samples, and no slope
	best := criterion(steps, float64(2*len(segments)-1))
	x := make([]float64, len(y))
	for _, begin := range twelfths(first) {
		for _, end := range twelfths(last) {
			if begin-first.from < statistic.Enough || last.to-end < statistic.Enough || end-begin < shortest {
				continue
			}
			for i := range x {
				x[i] = min(max(float64(first.from+i*stride-begin)/float64(end-begin), 0), 1)
			}
			alpha, beta := stat.LinearRegression(x, y, nil, false)
			var squares float64
			for i := range x {
				d := y[i] - alpha - beta*x[i]
				squares += d * d
			}
			if c := criterion(squares, 4); c < best {
				best, from, to, yes = c, begin, end, true
			}
		}
	}
	return from, to, yes
}

// twelfths returns thirteen places in a segment, from its begin to its end.
func twelfths(g segment) []int {
	out := make([]int, 0, 13)
	for i := range 13 {
		out = append(out, g.from+i*(g.to-g.from)/12)
	}
	return out
}
