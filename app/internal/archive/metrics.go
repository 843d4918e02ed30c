// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are the metrics of a Writer.
type Metrics struct{ write prometheus.Histogram }

// NewMetrics registers the metrics of a Writer. Each scrape calls stats.
func NewMetrics(r prometheus.Registerer, stats func() Stats) *Metrics {
	m := &Metrics{write: prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "lifeline_archive_write_seconds",
		Help:    "Seconds to write the traces of one look to the archive. Above 1: the disk is slow.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	})}
	r.MustRegister(
		m.write,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "lifeline_archive_waiting_bytes",
			Help: "Bytes of finished traces that wait in the journal for the archive. A steady rise: the archive " +
				"cannot be written; see the log. At 1 GiB, or after 24 hours, the oldest are dropped.",
		}, func() float64 { return float64(stats().Bytes) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "lifeline_archive_dropped_spans_total",
			Help: "Spans that were dropped before they were archived: the journal's limits were reached, its file " +
				"was lost, or the archive refused a trace. Any: see the log.",
		}, func() float64 { return float64(stats().Dropped) }),
	)
	return m
}

// Wrote is Options.Wrote.
func (m *Metrics) Wrote(took time.Duration) { m.write.Observe(took.Seconds()) }
