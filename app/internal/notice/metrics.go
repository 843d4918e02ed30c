// SPDX-License-Identifier: Apache-2.0

package notice

import "github.com/prometheus/client_golang/prometheus"

var (
	sentMetric = prometheus.NewDesc("lifeline_notices_sent_total",
		"Notices that the webhook (notices.url) has accepted, by type.", []string{"type"}, nil)
	lostMetric = prometheus.NewDesc("lifeline_notices_lost_total",
		"Lost notices, by reason: refused by the webhook (refused), or too many were waiting (full). Any: the log has "+
			"the webhook's answer.", []string{"reason"}, nil)
	waitingMetric = prometheus.NewDesc("lifeline_notices_waiting",
		"Notices that wait for the webhook. A steady rise: it does not answer; see the log.", nil, nil)

	changeLabels = []string{"kind", "category", "namespace"}
	failedMetric = prometheus.NewDesc("lifeline_changes_failed_total",
		"Failed changes since the start, by the kind and the namespace of the changed object and the category of the "+
			"reason (docs/reasons.md). Beyond 500 pairs of kind and namespace, both are (other). List them with "+
			"lifeline ls --failed.", changeLabels, nil)
	stuckMetric = prometheus.NewDesc("lifeline_changes_stuck",
		"Open changes with a reason why they do not continue, with the labels of lifeline_changes_failed_total. "+
			"Above 0 for long: ask lifeline why for the object.", changeLabels, nil)
)

// RegisterMetrics registers the metrics of a Sender and of Counts. Each scrape calls stats.
func RegisterMetrics(r prometheus.Registerer, stats func() Stats, counts *Counts) {
	r.MustRegister(metrics{stats, counts})
}

// metrics is a prometheus.Collector of Stats and Counts.
type metrics struct {
	stats  func() Stats
	counts *Counts
}

// Describe implements prometheus.Collector.
func (metrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{sentMetric, lostMetric, waitingMetric, failedMetric, stuckMetric} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (m metrics) Collect(to chan<- prometheus.Metric) {
	s := m.stats()
	count := func(d *prometheus.Desc, n int64, labels ...string) {
		if n > 0 {
			to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
		}
	}
	for typ, n := range s.Sent {
		count(sentMetric, n, string(typ))
	}
	count(lostMetric, s.Refused, "refused")
	count(lostMetric, s.Dropped, "full")
	to <- prometheus.MustNewConstMetric(waitingMetric, prometheus.GaugeValue, float64(s.Waiting))
	m.counts.Each(
		func(l Labels, n int64) {
			to <- prometheus.MustNewConstMetric(
				stuckMetric, prometheus.GaugeValue, float64(n), l.Kind, l.Category, l.Namespace)
		},
		func(l Labels, n int64) { count(failedMetric, n, l.Kind, l.Category, l.Namespace) },
	)
}
