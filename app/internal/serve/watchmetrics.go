// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/source/audit"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
)

var (
	lagMetric = prometheus.NewDesc("lifeline_source_lag_seconds",
		"Seconds since the watches were last known to be up to date (source watch). Above a minute: the API server "+
			"does not answer, or permissions are missing; see the log.", []string{"source"}, nil)
	watchRequestsMetric = prometheus.NewDesc("lifeline_watch_requests_total",
		"Requests of the watches to the API server, by resource and verb (list or watch). A steady rise of lists: "+
			"watches break, or resourceVersions expire; see the log.", []string{"resource", "verb"}, nil)
	watchDelayMetric = prometheus.NewDesc("lifeline_watch_delay_seconds",
		"Seconds from a write until a watch has observed it, by resource: the longest in half a minute, to the "+
			"second. It is by the API server's clock, so it includes the difference of the clocks; 0 without "+
			"changes. Above 10 for long: the process lacks CPU, and traces may finish without the objects of that "+
			"resource; exclude kinds with watch.exclude, or limit each server to some namespaces with "+
			"watch.namespaces.", []string{"resource"}, nil)
	watchErrorsMetric = prometheus.NewDesc("lifeline_watch_errors_total",
		"Failed requests of the watches, which are retried, by resource and kind of error: unreachable, slow, "+
			"unauthorized, forbidden, missing, gone (the resourceVersion is too old), busy, server, other. A steady "+
			"rise: the log has the error; for forbidden, lifeline rbac prints the rights.",
		[]string{"resource", "kind"}, nil)
	impossibleMetric = prometheus.NewDesc("lifeline_impossible_times_total",
		"Impossible times, before 2000 or more than ten minutes ahead, that were replaced, by source: watch "+
			"(times in Events and statuses) or audit (events of the audit log). Any: a clock is wrong, or times are "+
			"forged.", []string{"source"}, nil)
)

// watchMetrics is a prometheus.Collector of the watches' counts, and of the impossible times of all
// sources.
type watchMetrics struct {
	// watch returns the counts; nil before there are watches.
	watch func() *watchCounts
	audit func() []audit.Stats
}

// watchCounts are the counts of the watches.
type watchCounts struct {
	watch.Stats
	// lag is the time since they were last known to be up to date.
	lag time.Duration
}

// Describe implements prometheus.Collector.
func (watchMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		lagMetric, watchRequestsMetric, watchDelayMetric, watchErrorsMetric, impossibleMetric,
	} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (m watchMetrics) Collect(to chan<- prometheus.Metric) {
	count := func(d *prometheus.Desc, n uint64, labels ...string) {
		if n > 0 {
			to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
		}
	}
	seconds := func(d *prometheus.Desc, v time.Duration, label string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v.Seconds(), label)
	}
	impossible := uint64(0)
	for _, s := range m.audit() {
		impossible += s.Impossible
	}
	count(impossibleMetric, impossible, string(observation.SourceAudit))
	w := m.watch()
	if w == nil {
		return
	}
	count(impossibleMetric, w.ImpossibleTimes, string(observation.SourceWatch))
	seconds(lagMetric, w.lag, string(observation.SourceWatch))
	for _, r := range w.Resources {
		name := r.Resource.String()
		count(watchRequestsMetric, r.Lists, name, "list")
		count(watchRequestsMetric, r.Watches, name, "watch")
		seconds(watchDelayMetric, r.Delay, name)
		for kind, n := range r.Errors {
			count(watchErrorsMetric, n, name, kind)
		}
	}
}
