// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/source/audit"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
	"github.com/kube-lifeline/lifeline/app/internal/telemetry"
)

var (
	lagMetric = telemetry.Gauge("lifeline_source_lag_seconds",
		"Seconds since the watches were last known to be up to date (source watch). Above a minute: the API server "+
			"does not answer, or permissions are missing; see the log.", "source")
	watchRequestsMetric = telemetry.Counter("lifeline_watch_requests_total",
		"Requests of the watches to the API server, by resource and verb (list or watch). A steady rise of lists: "+
			"watches break, or resourceVersions expire; see the log.", "resource", "verb")
	watchDelayMetric = telemetry.Gauge("lifeline_watch_delay_seconds",
		"Seconds from a write until a watch has observed it, by resource: the longest in half a minute, to the "+
			"second. It is by the API server's clock, so it includes the difference of the clocks; 0 without "+
			"changes. Above 10 for long: the process lacks CPU, and traces may finish without the objects of that "+
			"resource; exclude kinds with watch.exclude, or limit each server to some namespaces with "+
			"watch.namespaces.", "resource")
	watchErrorsMetric = telemetry.Counter("lifeline_watch_errors_total",
		"Failed requests of the watches, which are retried, by resource and kind of error: unreachable, slow, "+
			"unauthorized, forbidden, missing, gone (the resourceVersion is too old), busy, server, other. A steady "+
			"rise: the log has the error; for forbidden, lifeline rbac prints the rights.", "resource", "kind")
	impossibleMetric = telemetry.Counter("lifeline_impossible_times_total",
		"Impossible times, before 2000 or more than ten minutes ahead, that were replaced, by source: watch "+
			"(times in Events and statuses) or audit (events of the audit log). Any: a clock is wrong, or times are "+
			"forged.", "source")
)

// watchCounts are the counts of the watches.
type watchCounts struct {
	watch.Stats
	// lag is the time since they were last known to be up to date.
	lag time.Duration
}

// newWatchMetrics returns a collector of the watches' counts, and of the impossible times of all sources.
// watches returns nil before there are watches.
func newWatchMetrics(watches func() *watchCounts, audits func() []audit.Stats) prometheus.Collector {
	return telemetry.Collector(func(to telemetry.Scrape) {
		impossible := uint64(0)
		for _, s := range audits() {
			impossible += s.Impossible
		}
		to.Value(impossibleMetric, float64(impossible), string(observation.SourceAudit))
		w := watches()
		if w == nil {
			return
		}
		to.Value(impossibleMetric, float64(w.ImpossibleTimes), string(observation.SourceWatch))
		to.Value(lagMetric, w.lag.Seconds(), string(observation.SourceWatch))
		for _, r := range w.Resources {
			name := r.Resource.String()
			to.Value(watchRequestsMetric, float64(r.Lists), name, "list")
			to.Value(watchRequestsMetric, float64(r.Watches), name, "watch")
			to.Value(watchDelayMetric, r.Delay.Seconds(), name)
			for kind, n := range r.Errors {
				to.Value(watchErrorsMetric, float64(n), name, kind)
			}
		}
	}, lagMetric, watchRequestsMetric, watchDelayMetric, watchErrorsMetric, impossibleMetric)
}
