// SPDX-License-Identifier: Apache-2.0

package regression

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/insight/sample"
	"github.com/kube-lifeline/lifeline/app/internal/insight/statistic"
)

// MaxRegressions bounds a Report.
const MaxRegressions = 500

// Find returns the regressions in a history. The order of rollups with the same start does not matter.
func Find(rollups iter.Seq[sample.Rollup], o Options) Report {
	if o.Level <= 0 {
		o.Level = 0.01
	}
	if o.Ratio <= 1 {
		o.Ratio = 1.1
	}
	if o.Effect <= 0 {
		o.Effect = 10 * time.Millisecond
	}
	h := read(rollups, o.Now)
	// The series of attributes need the splits of workloads, so each family has half of the false alarms.
	workloads := h.workloads()
	tested := detect(workloads, o.Level/2)
	attributes := h.byAttribute(workloads)
	tested += detect(attributes, o.Level/2)

	var shifts []shift
	for _, s := range slices.Concat(workloads, attributes) {
		if len(s.cuts) > 0 {
			for _, next := range h.shifts(s, o) {
				if !next.Since.Before(o.Since) {
					shifts = append(shifts, next)
				}
			}
		}
	}
	sortShifts(shifts)
	shifts = shifts[:min(len(shifts), MaxRegressions)]
	shifts = merge(h.attribute(shifts, workloads, o.Level))
	out := Report{Series: tested, Samples: len(h.records)}
	for i := range shifts {
		out.Regressions = append(out.Regressions, shifts[i].Regression)
	}
	return out
}

func sortShifts(shifts []shift) {
	slices.SortFunc(shifts, func(a, b shift) int {
		return cmp.Or(
			before(!a.Ended, !b.Ended), cmp.Compare(math.Abs(b.log), math.Abs(a.log)), a.Since.Compare(b.Since),
			a.Regression.Series.compare(b.Regression.Series),
		)
	})
}

func (s Series) compare(t Series) int {
	return cmp.Or(
		cmp.Compare(s.Cluster, t.Cluster), cmp.Compare(s.Namespace, t.Namespace), cmp.Compare(s.Workload, t.Workload),
		cmp.Compare(s.Kind, t.Kind), cmp.Compare(s.Verb, t.Verb), cmp.Compare(s.Phase, t.Phase),
		s.Attribute.Compare(t.Attribute),
	)
}

// attribute sets the factors of all shifts. Their tests are corrected together. It drops a shift of an attribute if its
// objects kept their lengths, and others changed.
func (h *history) attribute(shifts []shift, workloads []*series, level float64) []shift {
	type part struct {
		group
		phase int32
	}
	peers := map[part][]*series{}
	for _, s := range workloads {
		k := part{h.group(s.owner), s.phase}
		peers[k] = append(peers[k], s)
	}
	for _, of := range peers {
		slices.SortFunc(of, func(a, b *series) int { return h.name(a).compare(h.name(b)) })
	}
	scenes, explanations := make([]*scene, len(shifts)), make([][]candidate, len(shifts))
	var probabilities []float64
	for i := range shifts {
		of := &shifts[i]
		if of.Drift {
			continue
		}
		scenes[i] = h.scene(of, peers[part{h.group(of.owner), of.phase}])
		explanations[i] = scenes[i].explain()
		for _, e := range explanations[i] {
			probabilities = append(probabilities, e.P)
		}
	}
	cut := statistic.Correct(probabilities, level)
	out := shifts[:0]
	for i := range shifts {
		if c := scenes[i]; c != nil {
			if c.kept() {
				continue
			}
			c.conclude(c.factors(explanations[i], cut))
		}
		out = append(out, shifts[i])
	}
	return out
}

// kept reports whether the objects of an attribute kept their lengths.
func (c *scene) kept() bool {
	if c.of.attribute < 0 {
		return false
	}
	var with []float64
	for i := range c.after {
		if c.after[i].has(c.of.attribute) {
			with = append(with, c.after[i].log)
		}
	}
	return len(with) >= statistic.Enough && statistic.Middle(with)/c.of.log < 0.5
}

// merge leaves out what another regression says better. A slow zone is in the series of its nodes, too: of attributes
// with the same best factor at the same time, the one that is this factor stays. A slower whole names the phase that
// explains it.
func merge(shifts []shift) []shift {
	var out []shift
	for i := range shifts {
		x := &shifts[i]
		better := func(y shift) bool { return y.replaces(x) || y.dilutes(x) }
		if x.attribute >= 0 && slices.ContainsFunc(shifts, better) {
			continue
		}
		for j := range shifts {
			if y := &shifts[j]; y.isPhaseOf(x) {
				x.By = y.Regression.Series.Phase
				break // the shifts are sorted
			}
		}
		out = append(out, *x)
	}
	return out
}

// replaces reports whether x is a consequence of s in the series of another attribute.
func (s *shift) replaces(x *shift) bool {
	if s.series == x.series || s.attribute < 0 || s.phase != x.phase || s.Faster != x.Faster || len(x.Factors) == 0 {
		return false
	}
	a, b := s.Regression.Series, x.Regression.Series
	if a.Cluster != b.Cluster || a.Kind != b.Kind || a.Verb != b.Verb || !s.meets(x) {
		return false
	}
	best := x.Factors[0].Values
	mine, its := slices.Index(best, a.Attribute), slices.Index(best, b.Attribute)
	return mine >= 0 && (its < 0 || mine < its)
}

// dilutes reports whether x is a weaker effect of s: a slow zone makes the whole cluster a little slower, and other
// zones faster in comparison.
func (s *shift) dilutes(x *shift) bool {
	a, b := s.Regression.Series, x.Regression.Series
	return s.attribute >= 0 && s.phase == x.phase && a.Cluster == b.Cluster && a.Kind == b.Kind && a.Verb == b.Verb &&
		2*math.Abs(x.log) <= math.Abs(s.log) &&
		len(s.Factors) > 0 && slices.Contains(s.Factors[0].Values, a.Attribute) &&
		s.meets(x) && 4*s.Since.Sub(x.Since).Abs() <= min(s.length(), x.length())
}

// length is the time from the begin of a shift to its end, or to the last sample.
func (s *shift) length() time.Duration { return s.last.Sub(s.Since) }

// meets reports whether two shifts last at the same time.
func (s *shift) meets(x *shift) bool {
	return (x.Until.IsZero() || s.Since.Before(x.Until)) && (s.Until.IsZero() || x.Since.Before(s.Until))
}

// isPhaseOf reports whether s is a phase of the whole length x, begins at the same sample or near it, and has most of
// its effect.
func (s *shift) isPhaseOf(x *shift) bool {
	a, b := s.Regression.Series, x.Regression.Series
	a.Phase, b.Phase = "", ""
	return x.Regression.Series.Phase == sample.Total && s.Regression.Series.Phase != sample.Total && a == b &&
		s.Faster == x.Faster && s.meets(x) && 2*s.Effect/x.Effect >= 1 &&
		distance(s.after.from, x.after.from) <= max(near, min(s.After.Count, x.After.Count)/4)
}
