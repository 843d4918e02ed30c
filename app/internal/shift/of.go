// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/insight/regression"
	"github.com/kube-lifeline/lifeline/app/internal/insight/sample"
	"github.com/kube-lifeline/lifeline/app/internal/insight/statistic"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/timestamp"
)

// MaxShifts bounds the shifts of a report.
const MaxShifts = 1000

// Of returns the report of a computation, the worst first. Its changes have an ID only.
func Of(r *regression.Report, asOf, since, until time.Time) *Report {
	out := &Report{
		AsOf: asOf.UTC(), Since: since.UTC(), Until: until.UTC(), Series: r.Series, Samples: r.Samples,
		Least: statistic.Enough, Shifts: make([]Shift, 0, len(r.Regressions)),
	}
	for i := range r.Regressions {
		out.Shifts = append(out.Shifts, shiftOf(&r.Regressions[i]))
	}
	slices.SortStableFunc(out.Shifts, func(a, b Shift) int { return worse(&a, &b) })
	if len(out.Shifts) > MaxShifts {
		out.Shifts = out.Shifts[:MaxShifts]
		out.Incomplete = "there are more shifts than an answer has: give a namespace or a workload"
	}
	return out
}

func shiftOf(r *regression.Regression) Shift {
	s := Shift{
		Cluster: bounded(
			r.Series.Cluster,
		),
		Namespace: bounded(r.Series.Namespace),
		Workload:  bounded(r.Series.Workload),
		Kind:      bounded(r.Series.Kind),
		Verb:      bounded(r.Series.Verb),
		Phase:     bounded(r.Series.Phase),
		Faster:    r.Faster,
		Ended:     r.Ended,
		Drift:     r.Drift,
		By:        bounded(r.By),
		Since:     r.Since.UTC(),
		Before:    Side{r.Before.Count, timestamp.Seconds(r.Before.Median)},
		After:     Side{r.After.Count, timestamp.Seconds(r.After.Median)},
		Effect:    timestamp.Seconds(r.Effect),
		Low:       timestamp.Seconds(r.Low),
		High:      timestamp.Seconds(r.High),
		Ratio:     r.Ratio,
		P:         r.P,
		Factors:   []Factor{},
	}
	if !r.Until.IsZero() {
		until := r.Until.UTC()
		s.Until = &until
	}
	if r.Series.Attribute != (sample.Attribute{}) {
		v := valueOf(r.Series.Attribute)
		s.Attribute = &v
	}
	if r.Change.IsValid() {
		s.Change = &problem.Cause{TraceID: r.Change.String()}
	}
	for _, f := range r.Factors {
		one := Factor{Share: f.Share, With: f.With, Without: f.Without, New: f.New, Later: f.Later, Values: []Value{}}
		for _, v := range f.Values {
			one.Values = append(one.Values, valueOf(v))
		}
		s.Factors = append(s.Factors, one)
	}
	s.ID = IDOf(&s)
	return s
}

func valueOf(a sample.Attribute) Value { return Value{a.Name, bounded(a.Value)} }

func bounded(text string) string { return object.Bound(text) }
