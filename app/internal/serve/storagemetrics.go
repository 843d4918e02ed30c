// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// storageMetrics are the metrics of the journal and the archive together, and of the clock.
type storageMetrics struct {
	errors prometheus.Counter
	lost   prometheus.Counter
	// replaced counts the differences of journal and archive by label what.
	replaced *prometheus.CounterVec
	write    prometheus.Histogram
	jumps    prometheus.Counter
}

// newStorageMetrics registers the metrics. Each scrape calls stored.
func newStorageMetrics(r prometheus.Registerer, stored func(context.Context) (store.Stats, error)) *storageMetrics {
	r.MustRegister(&storedMetrics{read: stored})
	f := promauto.With(r)
	return &storageMetrics{
		errors: f.NewCounter(prometheus.CounterOpts{
			Name: "lifeline_store_errors_total",
			Help: "Failed writes to the journal and the archive, and failed removals of old traces, which are " +
				"retried. Nothing is lost. Until the journal can be written, the server takes no observations; " +
				"finished traces wait in it for the archive. Any: see the log; usually the disk is full.",
		}),
		lost: f.NewCounter(prometheus.CounterOpts{
			Name: "lifeline_stores_lost_total",
			Help: "Journals and archives that were deleted, overwritten or damaged while the server ran; a new " +
				"file began. Any: the log has the fault and the place of the old file.",
		}),
		replaced: f.NewCounterVec(prometheus.CounterOpts{
			Name: "lifeline_stores_replaced_total",
			Help: "Journals and archives that were replaced while the server did not run, by the difference between " +
				"the two. Any, except after the restoration of a backup (older archive): find out who changed the " +
				"files.",
		}, []string{"what"}),
		write: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "lifeline_store_write_seconds",
			Help:    "Seconds to store one look in the journal. Above 0.5: the disk is slow.",
			Buckets: workBuckets,
		}),
		jumps: f.NewCounter(prometheus.CounterOpts{
			Name: "lifeline_clock_jumps_total",
			Help: "Jumps of the machine's clock. Any: times of spans near the jump are wrong; see the machine's " +
				"time service.",
		}),
	}
}

var (
	bytesMetric = prometheus.NewDesc("lifeline_store_bytes",
		"Size of the archive on disk in bytes. Above retention.size for long: pruning is too slow; see the log.",
		nil, nil)
	tracesMetric = prometheus.NewDesc("lifeline_store_traces",
		"Traces in the archive, and open and waiting ones. Retention limits them.", nil, nil)
)

// scrapeTime bounds the reading of the archive at a scrape.
const scrapeTime = time.Second

// storedMetrics is a prometheus.Collector of store.Stats. Without the archive it has the last ones.
type storedMetrics struct {
	read func(context.Context) (store.Stats, error)

	mu   sync.Mutex
	last store.Stats
}

// Describe implements prometheus.Collector.
func (*storedMetrics) Describe(to chan<- *prometheus.Desc) { to <- bytesMetric; to <- tracesMetric }

// Collect implements prometheus.Collector.
func (m *storedMetrics) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	m.mu.Lock()
	defer m.mu.Unlock()
	if s, err := m.read(ctx); err == nil {
		m.last = s
	}
	to <- prometheus.MustNewConstMetric(bytesMetric, prometheus.GaugeValue, float64(m.last.Bytes))
	to <- prometheus.MustNewConstMetric(tracesMetric, prometheus.GaugeValue, float64(m.last.Traces))
}
