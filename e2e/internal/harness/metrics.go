// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bufio"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Histogram is the number of values up to each upper bound.
type Histogram map[float64]float64

// Metrics are values in Prometheus' text format by name, summed over their labels.
type Metrics struct {
	Sums map[string]float64
	// Histograms are by the name of the metric, without "_bucket".
	Histograms map[string]Histogram
}

// ReadMetrics reads the text format. It leaves out lines that it cannot read.
func ReadMetrics(in io.Reader) (Metrics, error) {
	m := Metrics{map[string]float64{}, map[string]Histogram{}}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		at := strings.LastIndexByte(line, ' ')
		if at < 0 || line[0] == '#' {
			continue
		}
		value, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			continue
		}
		name, labels, _ := strings.Cut(line[:at], "{")
		m.Sums[name] += value
		of, isBucket := strings.CutSuffix(name, "_bucket")
		if !isBucket {
			continue
		}
		_, text, _ := strings.Cut(labels, `le="`)
		text, _, _ = strings.Cut(text, `"`)
		if bound, err := strconv.ParseFloat(text, 64); err == nil {
			if m.Histograms[of] == nil {
				m.Histograms[of] = Histogram{}
			}
			m.Histograms[of][bound] += value
		}
	}
	return m, lines.Err()
}

// Since returns the values after an earlier reading.
func (h Histogram) Since(before Histogram) Histogram {
	out := Histogram{}
	for bound, n := range h {
		out[bound] = n - before[bound]
	}
	return out
}

// Quantile returns a value that a share q of all do not exceed, interpolated within its bucket. It is
// NaN without values, and the last finite bound if it is above that.
func (h Histogram) Quantile(q float64) float64 {
	bounds := slices.Sorted(maps.Keys(h))
	if len(bounds) == 0 || h[bounds[len(bounds)-1]] == 0 {
		return math.NaN()
	}
	want := q * h[bounds[len(bounds)-1]]
	low, below := 0.0, 0.0
	for _, bound := range bounds {
		switch {
		case h[bound] < want || h[bound] == below:
			low, below = bound, h[bound]
		case math.IsInf(bound, 1):
			return low
		default:
			return low + (bound-low)*(want-below)/(h[bound]-below)
		}
	}
	return low
}
