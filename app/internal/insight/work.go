// SPDX-License-Identifier: Apache-2.0

package insight

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// MaxWork bounds the kinds of work of a summary.
const MaxWork = 6

// Work is one kind of work on the critical path, and its part of the path.
type Work struct {
	// Label is the name of the work, as in Share.
	Label    string
	Duration time.Duration
}

// Longest returns the kinds of work with most of the path, at most MaxWork, in the order of their first
// segments. The kind of an open last segment is always among them, since it grows.
func Longest(path []Segment) []Work {
	shares, _ := sum(path)
	if len(shares) == 0 {
		return nil
	}
	current := ""
	if last := path[len(path)-1].Span; last.Open() {
		current = Label(last)
	}
	order := make([]int, len(shares))
	for i := range order {
		order[i] = i
	}
	weight := func(i int) time.Duration {
		if current != "" && shares[i].Label == current {
			return math.MaxInt64
		}
		return shares[i].Duration
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(weight(b), weight(a)) })
	order = order[:min(len(order), MaxWork)]
	slices.Sort(order)
	out := make([]Work, len(order))
	for i, of := range order {
		out[i] = Work{shares[of].Label, shares[of].Duration}
	}
	return out
}
