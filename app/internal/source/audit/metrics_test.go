// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"strings"
	"testing"

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
	m := metrics(func() []Stats { return []Stats{file, webhook} })
	if err := testutil.CollectAndCompare(m, strings.NewReader(text)); err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(metrics(func() []Stats { return nil })); n != 0 {
		t.Errorf("%d metrics without a source", n)
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
