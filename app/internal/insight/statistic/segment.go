// SPDX-License-Identifier: Apache-2.0

package statistic

import (
	"cmp"
	"math"
	"slices"
)

// shortest is the length of the shortest interval in which a split is looked for, twenty values on each side.
const shortest = 40

// Search returns the best split of all intervals of values: the whole series, and intervals of half the length, a
// quarter and so on, which overlap by half (the seeded intervals of Kovács et al.). A shift that ends again is lost in
// the whole series, and fills such an interval. P is corrected for their number: a half of the false alarms is for the
// whole series, and the rest for all other intervals.
func (s *Splitter) Search(values []float64) Split {
	best := s.Best(values)
	whole, count := best.P, 0
	part := Split{P: 1}
	for length := len(values) / 2; length >= shortest; length /= 2 {
		// The last interval ends with the series.
		for from := 0; ; from += length / 2 {
			from = min(from, len(values)-length)
			split := s.Best(values[from : from+length])
			if count++; split.P < part.P {
				part = Split{At: from + split.At, P: split.P}
			}
			if from+length == len(values) {
				break
			}
		}
	}
	if count == 0 {
		return best
	}
	best.P = min(1, 2*whole)
	if part.P *= 2 * float64(count); part.P < best.P {
		return part
	}
	return best
}

// Segment returns all splits of values whose probability is at most level, in their order. It divides the series at
// the best split, and then both sides. At the end each split moves to the best place between its neighbours, and from
// there by some values at most: see place.
func (s *Splitter) Segment(values []float64, level float64) []Split {
	splits := s.settle(values, s.divide(values, 0, level, nil), level)
	for i := range splits {
		from, to := 0, len(values)
		if i > 0 {
			from = splits[i-1].At
		}
		if i+1 < len(splits) {
			to = splits[i+1].At
		}
		splits[i].At = from + place(values[from:to], splits[i].At-from)
	}
	return splits
}

// farthest is the largest distance by which place moves a split.
const farthest = 4

// place returns the place near a split where the values differ least from the medians of both sides, with Enough
// values on each. Ranks do not tell by how much a value differs: they may take one unusual value beside the split for
// a value of the other side.
func place(values []float64, at int) int {
	left, right := Middle(slices.Clone(values[:at])), Middle(slices.Clone(values[at:]))
	best, least, sum := at, 0.0, 0.0
	for to := at - 1; to >= max(at-farthest, Enough); to-- {
		if sum += math.Abs(values[to]-right) - math.Abs(values[to]-left); sum < least {
			best, least = to, sum
		}
	}
	sum = 0
	for to := at + 1; to <= min(at+farthest, len(values)-Enough); to++ {
		if sum += math.Abs(values[to-1]-left) - math.Abs(values[to-1]-right); sum < least {
			best, least = to, sum
		}
	}
	return best
}

func (s *Splitter) divide(values []float64, from int, level float64, out []Split) []Split {
	split := s.Search(values)
	if split.P > level {
		return out
	}
	out = append(out, Split{At: from + split.At, P: split.P})
	out = s.divide(values[:split.At], from, level, out)
	return s.divide(values[split.At:], from+split.At, level, out)
}

// settle moves each split to the best place between its neighbours, and drops one that is none there.
func (s *Splitter) settle(values []float64, splits []Split, level float64) []Split {
	slices.SortFunc(splits, func(a, b Split) int { return cmp.Compare(a.At, b.At) })
	for i := 0; i < len(splits); {
		from, to := 0, len(values)
		if i > 0 {
			from = splits[i-1].At
		}
		if i+1 < len(splits) {
			to = splits[i+1].At
		}
		best := s.Best(values[from:to])
		if best.P > level {
			splits = slices.Delete(splits, i, i+1)
			continue
		}
		splits[i].At, splits[i].P = from+best.At, min(splits[i].P, best.P)
		i++
	}
	return splits
}
