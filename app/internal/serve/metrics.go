// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/kube-lifeline/lifeline/app/internal/archive"
	"github.com/kube-lifeline/lifeline/app/internal/export"
	"github.com/kube-lifeline/lifeline/app/internal/notice"
	"github.com/kube-lifeline/lifeline/app/internal/replica"
	"github.com/kube-lifeline/lifeline/app/internal/source/audit"
	"github.com/kube-lifeline/lifeline/app/internal/source/otlp"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// metrics are the metrics that parts of a server set. Those of the webhook are its own.
type metrics struct {
	loop    *loopMetrics
	storage *storageMetrics
	archive *archive.Metrics
	leader  prometheus.Gauge
	api     *apiMetrics
}

// counts are the parts' own counts. Each scrape calls the functions. Before a part starts, its function
// returns the zero value.
type counts struct {
	spans     func() otlp.Stats
	audit     func() []audit.Stats
	outbox    func() export.OutboxStats
	notices   func() []notice.Stats
	changes   *notice.Counts
	archive   func() archive.Stats
	stored    func(context.Context) (store.Stats, error)
	watch     func() *watchCounts
	joined    *joinedCounts
	relations *relations
	now       func() time.Time
}

// newMetrics registers the metrics of every room with the parts' counts. So each metric exists from
// the start, whatever the server waits for.
func newMetrics(r prometheus.Registerer, c counts) *metrics {
	otlp.RegisterMetrics(r, c.spans)
	audit.RegisterMetrics(r, c.audit)
	export.RegisterMetrics(r, c.outbox, c.now)
	notice.RegisterMetrics(r, c.notices, c.changes)
	r.MustRegister(newWatchMetrics(c.watch, c.audit), newJoiningMetrics(c.joined), c.relations.collector())
	return &metrics{
		loop:    newLoopMetrics(r),
		storage: newStorageMetrics(r, c.stored),
		archive: archive.NewMetrics(r, c.archive),
		leader:  replica.NewLeaderMetric(r),
		api:     newAPIMetrics(r),
	}
}

// latest has the counts of the last look. They are nil before it.
type latest[T any] struct{ atomic.Pointer[T] }

// get returns the counts; zero before the first look.
func (l *latest[T]) get() (counts T) {
	if last := l.Load(); last != nil {
		counts = *last
	}
	return counts
}

// newReloadMetric registers and returns the metric of reloads. Its label is the result.
func newReloadMetric(r prometheus.Registerer) *prometheus.CounterVec {
	return promauto.With(r).NewCounterVec(prometheus.CounterOpts{
		Name: "lifeline_config_reloads_total",
		Help: "Reloads of the configuration file, by result (taken, refused). Any refused: the log has the reason; " +
			"the old configuration stays.",
	}, []string{"result"})
}
