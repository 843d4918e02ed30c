// SPDX-License-Identifier: Apache-2.0

package export

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kube-lifeline/lifeline/app/internal/telemetry"
)

var (
	exportedMetric = telemetry.Counter("lifeline_spans_exported_total",
		"Spans that the OTLP backend has accepted.")
	droppedMetric = telemetry.Counter("lifeline_spans_dropped_total",
		"Spans dropped before the backend accepted them, by reason: they waited for longer than otlp.outbox.maxAge "+
			"(age), more than otlp.outbox.maxSpans waited (full), or the journal cannot read them (unreadable). Any: "+
			"the backend was away for too long; if unreadable, see the log.", "reason")
	refusedMetric = telemetry.Counter("lifeline_spans_refused_total",
		"Spans that the OTLP backend has refused permanently. Any: the log has its reason.")
	waitingMetric = telemetry.Gauge("lifeline_outbox_spans",
		"Spans that wait for the OTLP backend. A steady rise: the backend is down or too slow.")
	oldestMetric = telemetry.Gauge("lifeline_outbox_oldest_seconds",
		"Age in seconds of the oldest span that waits for the OTLP backend; 0 without one. Near "+
			"otlp.outbox.maxAge: spans are about to be dropped; check the backend.")
	deliveredMetric = telemetry.Gauge("lifeline_export_delivered_ratio",
		"Share of the spans for the OTLP backend that it has accepted: delivered / (delivered + dropped + refused "+
			"+ waiting), from 0 to 1. Below 0.999 for long: see lifeline_outbox_spans, lifeline_spans_dropped_total "+
			"and lifeline_spans_refused_total.")
)

// RegisterMetrics registers the metrics of an Outbox. Each scrape calls stats, and now if spans wait.
func RegisterMetrics(r prometheus.Registerer, stats func() OutboxStats, now func() time.Time) {
	r.MustRegister(telemetry.Collector(func(to telemetry.Scrape) {
		s := stats()
		to.Value(exportedMetric, float64(s.Exported))
		to.Value(refusedMetric, float64(s.Refused))
		for reason, n := range s.Dropped {
			to.Value(droppedMetric, float64(n), string(reason))
		}
		to.Value(waitingMetric, float64(s.Spans))
		var age time.Duration
		if !s.Oldest.IsZero() {
			age = max(0, now().Sub(s.Oldest))
		}
		to.Value(oldestMetric, age.Seconds())
		to.Value(deliveredMetric, s.DeliveredRatio())
	}, exportedMetric, droppedMetric, refusedMetric, waitingMetric, oldestMetric, deliveredMetric))
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
