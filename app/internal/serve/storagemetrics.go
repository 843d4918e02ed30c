// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/telemetry"
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
	r.MustRegister(newStoredMetrics(stored))
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
	bytesMetric = telemetry.Gauge("lifeline_store_bytes",
		"Size of the archive on disk in bytes. Above retention.size for long: pruning is too slow; see the log.")
	tracesMetric = telemetry.Gauge("lifeline_store_traces",
		"Traces in the archive, and open and waiting ones. Retention limits them.")
)

// scrapeTime bounds the reading of the archive at a scrape.
const scrapeTime = time.Second

// newStoredMetrics returns a collector of store.Stats. While the archive cannot be read, it has the last ones.
func newStoredMetrics(read func(context.Context) (store.Stats, error)) prometheus.Collector {
	var mu sync.Mutex
	var last store.Stats
	return telemetry.Collector(func(to telemetry.Scrape) {
		ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
		defer cancel()
		mu.Lock()
		defer mu.Unlock()
		if s, err := read(ctx); err == nil {
			last = s
		}
		to.Value(bytesMetric, float64(last.Bytes))
		to.Value(tracesMetric, float64(last.Traces))
	}, bytesMetric, tracesMetric)
}
