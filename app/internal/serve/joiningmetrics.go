// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kube-lifeline/lifeline/app/internal/stitch"
)

var (
	joinedMetric = prometheus.NewDesc("lifeline_joined_spans_total",
		"Received spans of a change, by arrival before its trace was finished (with) or later (after). Many late "+
			"ones: the components' clocks or batches are late.", []string{"when"}, nil)
	unjoinedMetric = prometheus.NewDesc("lifeline_unjoined_spans_total",
		"Received spans without a change. Why: polls and reads (noise), repeated spans (repeated), Lifeline's own "+
			"spans (own), spans sent on unchanged (passed), spans dropped by joining.unjoined or for lack "+
			"of room (dropped). Too many spans: in the buffer (evicted) or in one trace (surplus). Too late or too "+
			"far: the trace was finished more than an hour ago (overdue), or is more than an hour away (untimely). "+
			"Evicted ones: lower the components' sampling rates. Overdue or untimely ones: a sender was away for "+
			"long, its clock is wrong, or its spans are forged.", []string{"why"}, nil)
	bufferedMetric = prometheus.NewDesc("lifeline_joining_spans",
		"Received spans in the buffer, until their change is finished or they have none.", nil, nil)
	bufferBytesMetric = prometheus.NewDesc("lifeline_joining_bytes",
		"Approximate bytes of the spans in the buffer (lifeline_joining_spans).", nil, nil)
	copiesMetric = prometheus.NewDesc("lifeline_joining_copies_bytes",
		"Bytes of copies of buffered spans in the journal, for a restart. At 64 MiB the oldest copies are removed.",
		nil, nil)
	uncopiedMetric = prometheus.NewDesc("lifeline_joining_uncopied_spans_total",
		"Buffered spans without a copy, for lack of space; a killed process loses them. Any: lower the "+
			"components' sampling rates, or joining.window.", nil, nil)
)

// joiningStats counts joined and copied spans.
type joiningStats struct {
	stitch.Stats
	// CopiedBytes is the size of the copies. Uncopied counts waiting spans whose copies were
	// dropped for lack of space.
	CopiedBytes int
	Uncopied    int64
}

// joinedCounts are the counts of the last look, and a prometheus.Collector of them. They are nil
// before it, and without a receiver of spans.
type joinedCounts struct {
	atomic.Pointer[joiningStats]
}

// Describe implements prometheus.Collector.
func (*joinedCounts) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		joinedMetric, unjoinedMetric, bufferedMetric, bufferBytesMetric, copiesMetric, uncopiedMetric,
	} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *joinedCounts) Collect(to chan<- prometheus.Metric) {
	var j joiningStats
	if last := c.Load(); last != nil {
		j = *last
	}
	count := func(d *prometheus.Desc, n int64, label string) {
		if n > 0 {
			to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), label)
		}
	}
	value := func(d *prometheus.Desc, of prometheus.ValueType, n int64) {
		to <- prometheus.MustNewConstMetric(d, of, float64(n))
	}
	count(joinedMetric, j.Joined, "with")
	count(joinedMetric, j.Late, "after")
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
		count(unjoinedMetric, n, why)
	}
	value(bufferedMetric, prometheus.GaugeValue, int64(j.Buffered))
	value(bufferBytesMetric, prometheus.GaugeValue, int64(j.Bytes))
	value(copiesMetric, prometheus.GaugeValue, int64(j.CopiedBytes))
	value(uncopiedMetric, prometheus.CounterValue, j.Uncopied)
}
