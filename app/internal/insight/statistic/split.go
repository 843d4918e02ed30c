// SPDX-License-Identifier: Apache-2.0

package statistic

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

//go:generate go test -run ^TestCritical$ -update .

// Split is the place at which a series falls apart best.
type Split struct {
	// At is the index of the first value after the split.
	At int
	// P is the probability of so good a split in a series whose order is chance.
	P float64
}

// Splitter finds splits. It reuses its memory; the zero value is ready.
type Splitter struct {
	order []int
	ranks []float64
}

// Best returns the best split of values, with Enough values on each side: the largest of all standardized rank sums.
// A comparison at the best place needs the distribution of the best place: the table critical has it, from
// permutations.
// P is 1 for a series that is too short or constant.
func (s *Splitter) Best(values []float64) Split {
	n := len(values)
	if n < 2*Enough {
		return Split{P: 1}
	}
	best, at := deviation(s.rank(values))
	return Split{At: at, P: Probability(n, best)}
}

// deviation returns the largest standardized sum of the first values, with Enough values on each side, and the number
// of values in it. The mean of the values must be 0.
func deviation(centered []float64) (most float64, at int) {
	n := len(centered)
	var squares float64
	for _, r := range centered {
		squares += r * r
	}
	if squares == 0 {
		return 0, 0
	}
	var sum float64
	for i, r := range centered[:n-Enough] {
		sum += r
		k := i + 1
		if k < Enough {
			continue
		}
		// The square of the deviation, without its constant factor.
		if z := sum * sum / (float64(k) * float64(n-k)); z > most {
			most, at = z, k
		}
	}
	return math.Sqrt(most * float64(n) * float64(n-1) / squares), at
}

// rank returns the ranks of values less their mean. Equal values share the mean of their ranks.
func (s *Splitter) rank(values []float64) []float64 {
	n := len(values)
	s.order, s.ranks = slices.Grow(s.order[:0], n)[:n], slices.Grow(s.ranks[:0], n)[:n]
	for i := range s.order {
		s.order[i] = i
	}
	slices.SortFunc(s.order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	for from := 0; from < n; {
		to := from + 1
		for to < n && values[s.order[to]] == values[s.order[from]] {
			to++
		}
		for _, i := range s.order[from:to] {
			s.ranks[i] = float64(from+to-n) / 2
		}
		from = to
	}
	return s.ranks
}

// Probability returns the probability that the best split of n values deviates at least so much, if their order is
// chance. Between the rows and columns of the table it interpolates. Beyond them, it follows the tail that Miller and
// Siegmund have for normal values; that of ranks is lighter.
func Probability(n int, z float64) float64 {
	if n < 2*Enough || !(z > 0) {
		return 1
	}
	at := sort.SearchInts(lengths, n)
	switch {
	case at == len(lengths):
		return probability(at-1, z)
	case lengths[at] == n:
		return probability(at, z)
	}
	low, high := math.Log(probability(at-1, z)), math.Log(probability(at, z))
	x := math.Log(float64(n)/float64(lengths[at-1])) / math.Log(float64(lengths[at])/float64(lengths[at-1]))
	return math.Exp(low + x*(high-low))
}

// probability returns that of row at. Its logarithm falls with the square of the deviation.
func probability(at int, z float64) float64 {
	row := critical[at]
	last := len(row) - 1
	i := sort.SearchFloat64s(row, z)
	if i > last {
		n := lengths[at]
		return max(levels[last]*tail(n, z)/tail(n, row[last]), math.SmallestNonzeroFloat64)
	}
	low, level := 0.0, 1.0
	if i > 0 {
		low, level = row[i-1], levels[i-1]
	}
	x := (z*z - low*low) / (row[i]*row[i] - low*low)
	return math.Exp(math.Log(level) + x*(math.Log(levels[i])-math.Log(level)))
}

// tail is proportional to the probability of a large deviation.
func tail(n int, z float64) float64 {
	edge := float64(Enough) / float64(n)
	width := 2 * math.Log((1-edge)/edge)
	return distuv.UnitNormal.Prob(z) * ((z-1/z)*width + 4/z)
}
