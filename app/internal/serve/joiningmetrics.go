// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kube-lifeline/lifeline/app/internal/stitch"
	"github.com/kube-lifeline/lifeline/app/internal/telemetry"
)

var (
	joinedMetric = telemetry.Counter("lifeline_joined_spans_total",
		"Received spans of a change, by arrival before its trace was finished (with) or later (after). Many late "+
			"ones: the components' clocks or batches are late.", "when")
	unjoinedMetric = telemetry.Counter("lifeline_unjoined_spans_total",
		"Received spans without a change. Why: polls and reads (noise), repeated spans (repeated), Lifeline's own "+
			"spans (own), spans sent on unchanged (passed), spans dropped by joining.unjoined or for lack "+
			"of room (dropped). Too many spans: in the buffer (evicted) or in one trace (surplus). Too late or too "+
			"far: the trace was finished more than an hour ago (overdue), or is more than an hour away (untimely). "+
			"Evicted ones: lower the components' sampling rates. Overdue or untimely ones: a sender was away for "+
			"long, its clock is wrong, or its spans are forged.", "why")
	bufferedMetric = telemetry.Gauge("lifeline_joining_spans",
		"Received spans in the buffer, until their change is finished or they have none.")
	bufferBytesMetric = telemetry.Gauge("lifeline_joining_bytes",
		"Approximate bytes of the spans in the buffer (lifeline_joining_spans).")
	copiesMetric = telemetry.Gauge("lifeline_joining_copies_bytes",
		"Bytes of copies of buffered spans in the journal, for a restart. At 64 MiB the oldest copies are removed.")
	uncopiedMetric = telemetry.Counter("lifeline_joining_uncopied_spans_total",
		"Buffered spans without a copy, for lack of space; a killed process loses them. Any: lower the "+
			"components' sampling rates, or joining.window.")
)

// joiningStats counts joined and copied spans.
type joiningStats struct {
	stitch.Stats
	// CopiedBytes is the size of the copies. Uncopied counts waiting spans whose copies were
	// dropped for lack of space.
	CopiedBytes int
	Uncopied    int64
}

// joinedCounts are the counts of joining. Without a receiver of spans there are none.
type joinedCounts = latest[joiningStats]

// newJoiningMetrics returns a collector of the counts.
func newJoiningMetrics(last *joinedCounts) prometheus.Collector {
	return telemetry.Collector(func(to telemetry.Scrape) {
		j := last.get()
		to.Value(joinedMetric, float64(j.Joined), "with")
		to.Value(joinedMetric, float64(j.Late), "after")
		for why, n := range map[string]int64{
			"noise":    j.Noise,
			"repeated": j.Repeated,
			"own":      j.Own,
			"passed":   j.Passed,
			"dropped":  j.Expired,
			"evicted":  j.Evicted,
			"surplus":  j.Surplus,
			"overdue":  j.Overdue,
			"untimely": j.Untimely,
		} {
			to.Value(unjoinedMetric, float64(n), why)
		}
		to.Value(bufferedMetric, float64(j.Buffered))
		to.Value(bufferBytesMetric, float64(j.Bytes))
		to.Value(copiesMetric, float64(j.CopiedBytes))
		to.Value(uncopiedMetric, float64(j.Uncopied))
	}, joinedMetric, unjoinedMetric, bufferedMetric, bufferBytesMetric, copiesMetric, uncopiedMetric)
}
