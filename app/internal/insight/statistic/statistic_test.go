// SPDX-License-Identifier: Apache-2.0

package statistic

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/gonum/stat/distuv"
)

// lengths of a phase without any change, as a logarithmic normal distribution has them.
func random(r *rand.Rand, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = 2e9 * math.Exp(0.5*r.NormFloat64())
	}
	return out
}

// TestNoShift counts the series without a shift in which a split is found, at a level of 1 %: by ranks and the
// distribution of the best place, and by a t-test at the best place (docs/adr/0013-regressions.md).
func TestNoShift(t *testing.T) {
	count := 2000
	if testing.Short() {
		count = 500
	}
	for _, n := range []int{40, 100, 400} {
		r := rand.New(rand.NewPCG(uint64(n), 1))
		var s Splitter
		byRank, byIntervals, byT := 0, 0, 0
		for range count {
			values := random(r, n)
			if s.Best(values).P <= 0.01 {
				byRank++
			}
			if s.Search(values).P <= 0.01 {
				byIntervals++
			}
			if bestT(values) <= 0.01 {
				byT++
			}
		}
		rate := func(found int) float64 { return 100 * float64(found) / float64(count) }
		t.Logf("%d values: best split by ranks %.1f %%, of all intervals %.1f %%, t-test at the best split %.1f %%",
			n, rate(byRank), rate(byIntervals), rate(byT))
		if rate(byRank) > 2.5 || rate(byIntervals) > 2.5 {
			t.Errorf("%d values: %.1f and %.1f %% of the series have a split by chance", n, rate(byRank),
				rate(byIntervals))
		}
		if rate(byT) < 5 {
			t.Errorf("%d values: the t-test finds splits in %.1f %% only, and would do", n, rate(byT))
		}
	}
}

// bestT returns the probability by Welch's t-test at the place where it is smallest.
func bestT(values []float64) float64 {
	best := 1.0
	for k := Enough; k <= len(values)-Enough; k++ {
		ma, va := stat.MeanVariance(values[:k], nil)
		mb, vb := stat.MeanVariance(values[k:], nil)
		a, b := va/float64(k), vb/float64(len(values)-k)
		degrees := (a + b) * (a + b) / (a*a/float64(k-1) + b*b/float64(len(values)-k-1))
		d := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: degrees}
		best = min(best, 2*d.Survival(math.Abs(ma-mb)/math.Sqrt(a+b)))
	}
	return best
}

// TestProbabilityIsNoSmallerThanExact compares the tail beyond the table with the exact probability of two halves
// without overlap.
func TestProbabilityIsNoSmallerThanExact(t *testing.T) {
	for _, n := range []int{24, 40, 64, 200} {
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(i)
		}
		var s Splitter
		got := s.Best(values)
		exact := 2 * math.Exp(-combin.LogGeneralizedBinomial(float64(n), float64(n/2)))
		if got.At != n/2 || got.P < exact {
			t.Errorf("%d ascending values: split at %d with %.2g, the exact probability is %.2g", n, got.At, got.P,
				exact)
		}
	}
}

// TestProbability falls with the deviation, also at the edges of the table and far beyond it.
func TestProbability(t *testing.T) {
	for _, n := range []int{0, 15, 16, 17, 30, 100, 1024, 100_000} {
		last := 1.0
		for z := -1.0; z < 100; z += 0.01 {
			p := Probability(n, z)
			if math.IsNaN(p) || p < 0 || p > last*(1+1e-9) {
				t.Fatalf("Probability(%d, %.2f) is %v after %v", n, z, p, last)
			}
			last = p
		}
		if n >= 16 && last > 1e-20 {
			t.Errorf("Probability(%d, 100) is %v", n, last)
		}
	}
	for _, z := range []float64{math.NaN(), math.Inf(-1), 0} {
		if p := Probability(100, z); p != 1 {
			t.Errorf("Probability(100, %v) is %v, want 1", z, p)
		}
	}
}

func TestSegment(t *testing.T) {
	const first, second = 100, 160
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		values := random(r, 300)
		for i := range values {
			values[i] = math.Log(values[i])
			if i >= first && i < second {
				values[i]++
			}
		}
		var s Splitter
		splits := s.Segment(values, 1e-3)
		if len(splits) != 2 || math.Abs(float64(splits[0].At-first)) > 8 || math.Abs(float64(splits[1].At-second)) > 8 {
			t.Errorf("seed %d: splits %v, want %d and %d", seed, splits, first, second)
		}
	}
}

// TestSplitter never fails, whatever the values are.
func TestSplitter(t *testing.T) {
	for seed := range uint64(200) {
		arbitrary(t, seed, 1)
	}
}

func FuzzSplitter(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(arbitrary)
}

func arbitrary(t *testing.T, a, b uint64) {
	r := rand.New(rand.NewPCG(a, b))
	values := make([]float64, r.IntN(200))
	for i := range values {
		values[i] = []float64{0, 1, -1, math.MaxFloat64, -math.MaxFloat64, r.Float64()}[r.IntN(2+r.IntN(5))]
	}
	before := slices.Clone(values)
	var s Splitter
	last := 0
	for _, split := range s.Segment(values, 0.05) {
		if split.At < last+Enough || split.At > len(values)-Enough || !(split.P >= 0 && split.P <= 0.05) {
			t.Fatalf("%v in %d values", split, len(values))
		}
		last = split.At
	}
	if diff := cmp.Diff(before, values); diff != "" {
		t.Fatal("the values changed")
	}
	constant := slices.Repeat([]float64{5}, len(values))
	if split := s.Search(constant); split.P != 1 {
		t.Fatalf("%v in a constant series", split)
	}
}

func TestCorrect(t *testing.T) {
	cases := map[string]struct {
		p    []float64
		want float64
	}{
		"none":        {nil, -1},
		"no small":    {[]float64{0.5, 0.02}, -1},
		"first":       {[]float64{0.5, 0.004}, 0.004},
		"as a group":  {[]float64{0.009, 0.0099, 0.008}, 0.0099}, // each alone is above a third of the level
		"but no more": {[]float64{0.9, 0.001, 0.004, 0.02}, 0.004},
	}
	for name, tc := range cases {
		if got := Correct(tc.p, 0.01); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

func TestShift(t *testing.T) {
	outside := 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		before, after := make([]float64, 30), make([]float64, 25)
		for i := range before {
			before[i] = r.NormFloat64()
		}
		for i := range after {
			after[i] = 3 + r.NormFloat64()
		}
		e := Shift(before, after)
		if e.Low > e.Center || e.Center > e.High {
			t.Fatalf("%+v", e)
		}
		if e.Low > 3 || e.High < 3 {
			outside++
		}
	}
	if outside > 36 || outside < 4 {
		t.Errorf("%d of 400 intervals lack the true shift; 5 %% are 20", outside)
	}
	if got, want := Shift([]float64{1}, []float64{4}), (Estimate{3, 3, 3}); got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestMedian(t *testing.T) {
	ascending := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	if got, want := Median(ascending), (Estimate{5.5, 2, 9}); got != want {
		t.Errorf("%v, want %v", got, want)
	}
	if got, want := Median(ascending[:3]), (Estimate{2, 1, 3}); got != want {
		t.Errorf("too few for an interval: %v, want all values %v", got, want)
	}
}

func TestShares(t *testing.T) {
	if p := Shares(5, 100, 50, 100); p > 1e-6 {
		t.Errorf("5 and 50 of 100 differ by chance with %v", p)
	}
	for _, same := range []float64{
		Shares(5, 100, 5, 100), Shares(0, 100, 0, 100), Shares(100, 100, 10, 10), Shares(0, 0, 1, 1),
	} {
		if same != 1 {
			t.Errorf("equal shares differ with %v", same)
		}
	}
}
