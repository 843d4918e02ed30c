// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"math"
	"strings"
	"testing"
)

func TestMetrics(t *testing.T) {
	const text = `# HELP lag_seconds x
lag_seconds_bucket{le="1"} 10
lag_seconds_bucket{le="2"} 90
lag_seconds_bucket{le="+Inf"} 100
requests_total{verb="get"} 3
requests_total{verb="list"} 4
`
	m, err := ReadMetrics(strings.NewReader(text))
	if err != nil || m.Sums["requests_total"] != 7 {
		t.Fatalf("requests_total is %v (%v), want 7", m.Sums["requests_total"], err)
	}
	lag := m.Histograms["lag_seconds"]
	for q, want := range map[float64]float64{0.1: 1, 0.5: 1.5, 0.99: 2} {
		if got := lag.Quantile(q); got != want {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
	if got := lag.Since(lag).Quantile(0.5); !math.IsNaN(got) {
		t.Errorf("the median of nothing is %v", got)
	}
}
