// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/question"
)

// MaxBuckets bounds the buckets of a Density, and maxDensity its time.
const (
	MaxBuckets = 1000
	maxDensity = 100 * 366 * 24 * time.Hour
)

// DensityQuery asks for the number of traces over time.
type DensityQuery struct {
	// Query selects the traces. Since and Until are required; Limit and After do not count.
	Query
	// Where selects traces with a matching lifecycle that starts between Since and Until; nil selects
	// all. Such a query is a costly question.
	Where *question.Question
	// Now is as in FindQuery.
	Now time.Time
	// Buckets is the number of equal parts of the time from Since to Until, from 1 to MaxBuckets.
	Buckets int
}

// Validate returns an error for a query without an answer, or nil.
func (q *DensityQuery) Validate() error {
	switch {
	case q.Since.IsZero() || q.Until.IsZero():
		return errors.New("a density needs the start and the end of its time")
	case q.Buckets < 1 || q.Buckets > MaxBuckets:
		return fmt.Errorf("%d is no number of buckets from 1 to %d", q.Buckets, MaxBuckets)
	case q.Until.Sub(q.Since) > maxDensity:
		return errors.New("the time of a density is longer than 100 years")
	case q.Width() <= 0:
		return errors.New("the time of a density is too short for its buckets, or ends before it starts")
	}
	return nil
}

// Lifecycles selects the lifecycles of which a trace needs one, in any scope.
func (q *DensityQuery) Lifecycles() FindQuery {
	return FindQuery{Where: q.Where, Now: q.Now, Since: q.Since, Until: q.Until}
}

// Width is the length of a bucket. The last one may end up to that length after Until.
func (q *DensityQuery) Width() time.Duration {
	whole, n := q.Until.Sub(q.Since), time.Duration(q.Buckets)
	return (whole + n - 1) / n
}

// Bucket counts the traces with a start in one part of the time.
type Bucket struct {
	// Count counts all, Failed those that failed or were refused, and Open those that have not ended.
	Count, Failed, Open int64
}

// Density has the buckets in the order of time.
type Density struct {
	Buckets []Bucket
	// Incomplete is as in Page.
	Incomplete string
}

// Add counts a trace that matches q.
func (d *Density) Add(q *DensityQuery, s *Summary) {
	b := &d.Buckets[s.Start.Sub(q.Since)/q.Width()]
	b.Count++
	if s.Outcome.InVain() {
		b.Failed++
	}
	if s.Open {
		b.Open++
	}
}
