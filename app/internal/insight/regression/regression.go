// SPDX-License-Identifier: Apache-2.0

// Package regression finds the phases that became slower or faster, since when, and the circumstance that explains it.
// It reads rollups, and leaves their storage to others.
package regression

import (
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/insight/sample"
)

// Options are the settings of Find. The zero value means the defaults.
type Options struct {
	// Now is the end of the history: later samples are left out. Zero means no end.
	Now time.Time
	// Since is the earliest begin of a shift in the report. Earlier samples serve as the time before it.
	Since time.Time
	// Level is the largest share of false ones among all regressions; 0.01 by default.
	Level float64
	// Ratio is the smallest ratio between after and before, or before and after; 1.1 by default.
	Ratio float64
	// Effect is the smallest shift, 10 ms by default. Shorter ones are within the resolution of times.
	Effect time.Duration
}

// Report is the result of Find.
type Report struct {
	// Series is the number of series with enough samples for a test, and Samples is that of all rollups.
	Series, Samples int
	// Regressions has the shifts to slower and to faster lengths. Those that last come before those that ended, and
	// within each the largest ratio first.
	Regressions []Regression
}

// Series is a sequence of samples in the order of time: a workload, the objects of a kind without a workload, or an
// attribute.
type Series struct {
	Cluster string
	// Namespace and Workload are empty in the series of an attribute. Workload is empty in that of a kind. Jobs and
	// Pods without another workload above them belong to their kind.
	Namespace, Workload string
	Kind, Verb          string
	Phase               string
	// Attribute is set in the series of an attribute, such as a node: the lengths of the objects with it, compared with
	// other objects of the same rollout or workload. A slow node touches some Pods of each rollout, and their median
	// hides it.
	Attribute sample.Attribute
}

// Regression is a shift in a series.
type Regression struct {
	Series Series
	// Since is the start of the first sample after the shift. Until is that of the first sample after its end, if the
	// shift Ended.
	Since, Until time.Time
	// Before and After are the samples up to the neighbouring shifts.
	Before, After Side
	// Effect is the median shift, between Low and High with a confidence of 95 %.
	Effect, Low, High time.Duration
	// Ratio is that of the lengths after and before the shift.
	Ratio float64
	// P is the probability of such a split in a series without a shift, corrected for the intervals of the series.
	P float64
	// Faster: the shift is to shorter lengths.
	Faster bool
	// Ended: the last samples of the series have the former length again. Such a shift is history.
	Ended bool
	// Drift: the lengths changed slowly. Since is then the begin of the drift, and no change is its cause.
	Drift bool
	// By is the phase whose own regression explains that of the whole length (sample.Total); empty without one.
	By string
	// Factors are explanations of the shift, the best first. Without any, no cause was found.
	Factors []Factor
	// Change is the trace of the change that began it; zero without one.
	Change trace.TraceID
}

// Side is the samples on one side of a shift.
type Side struct {
	Count  int
	Median time.Duration
}

// Factor is one explanation of a shift.
type Factor struct {
	// Values occur together, and cannot be told apart. They are sorted by how much they explain.
	Values []sample.Attribute
	// Share is the part of the shift that is absent without the values, from 0 to 1.
	Share float64
	// With and Without are the numbers of objects after the shift with the values and without them.
	With, Without int
	// New: the values began with the shift. Later: later values of the attribute count, too, such as the images of
	// later rollouts.
	New, Later bool
	// P is the probability of such a difference between objects with and without the values, by chance.
	P float64
}
