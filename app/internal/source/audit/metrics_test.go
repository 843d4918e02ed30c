// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestMetrics: the events of the file and of the webhook are counted together.
func TestMetrics(t *testing.T) {
	file := Stats{Writes: 2, Gaps: 1, Passed: map[string]uint64{"read": 3}}
	webhook := Stats{Writes: 5, Passed: map[string]uint64{"read": 1}, Refused: map[int]uint64{401: 7}}
	const want = `
lifeline_audit_events_total{what="gap"} 1
lifeline_audit_events_total{what="read"} 4
lifeline_audit_events_total{what="refused 401"} 7
lifeline_audit_events_total{what="write"} 7
`
	text := "# HELP lifeline_audit_events_total " + help(t) + "\n# TYPE lifeline_audit_events_total counter" + want
	r := prometheus.NewRegistry()
	var sources []Stats
	RegisterMetrics(r, func() []Stats { return sources })
	if n, err := testutil.GatherAndCount(r); err != nil || n != 0 {
		t.Errorf("%d metrics without a source: %v", n, err)
	}
	sources = []Stats{file, webhook}
	if err := testutil.GatherAndCompare(r, strings.NewReader(text)); err != nil {
		t.Error(err)
	}
}

// help returns the help text of the metric.
func help(t *testing.T) string {
	t.Helper()
	_, rest, _ := strings.Cut(eventsMetric.String(), `help: "`)
	text, _, ok := strings.Cut(rest, `", `)
	if !ok {
		t.Fatal(eventsMetric)
	}
	return text
}
