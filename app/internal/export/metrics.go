// SPDX-License-Identifier: Apache-2.0

package export

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	exportedMetric = prometheus.NewDesc("lifeline_spans_exported_total",
		"Spans that the OTLP backend has accepted.", nil, nil)
	droppedMetric = prometheus.NewDesc("lifeline_spans_dropped_total",
		"Spans dropped before the backend accepted them, by reason: they waited for longer than otlp.outbox.maxAge "+
			"(age), more than otlp.outbox.maxSpans waited (full), or the journal "+
			"cannot read them (unreadable). Any: the backend was away for too long; if unreadable, see the log.",
		[]string{"reason"}, nil)
	refusedMetric = prometheus.NewDesc("lifeline_spans_refused_total",
		"Spans that the OTLP backend has refused permanently. Any: the log has its reason.", nil, nil)
	waitingMetric = prometheus.NewDesc("lifeline_outbox_spans",
		"Spans that wait for the OTLP backend. A steady rise: the backend is down or too slow.", nil, nil)
	oldestMetric = prometheus.NewDesc("lifeline_outbox_oldest_seconds",
		"Age in seconds of the oldest span that waits for the OTLP backend; 0 without one. Near "+
			"otlp.outbox.maxAge: spans are about to be dropped; check the backend.", nil, nil)
	deliveredMetric = prometheus.NewDesc("lifeline_export_delivered_ratio",
		"Share of the spans for the OTLP backend that it has accepted: delivered / (delivered + dropped + refused "+
			"+ waiting), from 0 to 1. Below 0.999 for long: see lifeline_outbox_spans, lifeline_spans_dropped_total "+
			"and lifeline_spans_refused_total.", nil, nil)
)

// RegisterMetrics registers the metrics of an Outbox. Each scrape calls stats, and now if spans wait.
func RegisterMetrics(r prometheus.Registerer, stats func() OutboxStats, now func() time.Time) {
	r.MustRegister(metrics{stats, now})
}

// metrics is a prometheus.Collector of OutboxStats.
type metrics struct {
	stats func() OutboxStats
	now   func() time.Time
}

// Describe implements prometheus.Collector.
func (metrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		exportedMetric, droppedMetric, refusedMetric, waitingMetric, oldestMetric, deliveredMetric,
	} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (m metrics) Collect(to chan<- prometheus.Metric) {
	s := m.stats()
	count := func(d *prometheus.Desc, n int64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	value := func(d *prometheus.Desc, v float64) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v)
	}
	count(exportedMetric, s.Exported)
	count(refusedMetric, s.Refused)
	for reason, n := range s.Dropped {
		if n > 0 {
			count(droppedMetric, n, string(reason))
		}
	}
	value(waitingMetric, float64(s.Spans))
	var age time.Duration
	if !s.Oldest.IsZero() {
		age = max(0, m.now().Sub(s.Oldest))
	}
	value(oldestMetric, age.Seconds())
	value(deliveredMetric, s.DeliveredRatio())
}

// DeliveredRatio returns the share of delivered spans. The total is delivered, dropped, refused and
// waiting spans. The share is 1 for a total of zero.
func (s *OutboxStats) DeliveredRatio() float64 {
	all := s.Exported + s.Refused + int64(s.Spans)
	for _, n := range s.Dropped {
		all += n
	}
	if all == 0 {
		return 1
	}
	return float64(s.Exported) / float64(all)
}
