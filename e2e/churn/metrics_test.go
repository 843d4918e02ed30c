// SPDX-License-Identifier: Apache-2.0

package churn

import (
	"bufio"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// histogram is how many values were at most each upper bound.
type histogram map[float64]float64

// metrics are values of Prometheus' text format by name, summed over labels but
// for the histogram that is asked for.
type metrics struct {
	sums    map[string]float64
	buckets histogram
}

// readMetrics reads the text format. Lines that it does not understand are
// left out, which a metric of value 0 then shows.
func readMetrics(in io.Reader, histogramName string) (metrics, error) {
	m := metrics{map[string]float64{}, histogram{}}
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
		m.sums[name] += value
		if name == histogramName+"_bucket" {
			_, text, _ := strings.Cut(labels, `le="`)
			text, _, _ = strings.Cut(text, `"`)
			if bound, err := strconv.ParseFloat(text, 64); err == nil {
				m.buckets[bound] += value
			}
		}
	}
	return m, lines.Err()
}

// since is what came after an earlier reading.
func (h histogram) since(before histogram) histogram {
	out := histogram{}
	for bound, n := range h {
		out[bound] = n - before[bound]
	}
	return out
}

// quantile is a value that a share q of all do not exceed, interpolated within
// its bucket; not a number if there are none, and the last finite bound if it is
// above that.
func (h histogram) quantile(q float64) float64 {
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

func TestQuantile(t *testing.T) {
	const text = `# HELP lag_seconds x
lag_seconds_bucket{le="1"} 10
lag_seconds_bucket{le="2"} 90
lag_seconds_bucket{le="+Inf"} 100
requests_total{verb="get"} 3
requests_total{verb="list"} 4
`
	m, err := readMetrics(strings.NewReader(text), "lag_seconds")
	if err != nil || m.sums["requests_total"] != 7 {
		t.Fatalf("requests_total is %v (%v), want 7", m.sums["requests_total"], err)
	}
	for q, want := range map[float64]float64{0.1: 1, 0.5: 1.5, 0.99: 2} {
		if got := m.buckets.quantile(q); got != want {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
	if got := m.buckets.since(m.buckets).quantile(0.5); !math.IsNaN(got) {
		t.Errorf("the median of nothing is %v", got)
	}
}
