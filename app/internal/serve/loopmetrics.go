// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/lifecycle"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/telemetry"
)

// Buckets of histograms, in seconds: for work in this process, and for a user's actions.
var (
	workBuckets  = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
	delayBuckets = []float64{.05, .1, .25, .5, .75, 1, 1.5, 2, 3, 5, 10, 30, 60, 300, 1800}
)

// loopMetrics are the metrics of the loop: the taken observations, the looks and the engine. A label
// is named in a field's comment.
type loopMetrics struct {
	observations *prometheus.CounterVec // source
	delay        prometheus.Histogram
	stored       prometheus.Histogram
	open         prometheus.Gauge
	finished     *prometheus.CounterVec // outcome
	spans        prometheus.Counter
	sampledOut   prometheus.Counter
	look         prometheus.Histogram
	save         prometheus.Histogram
	objects      prometheus.Gauge
	differences  prometheus.Counter
	inputs       prometheus.Gauge
	durations    *durations
	writes       latest[lifecycle.WriteStats]
	requests     latest[lifecycle.AuditStats]
}

func newLoopMetrics(r prometheus.Registerer) *loopMetrics {
	f := promauto.With(r)
	m := &loopMetrics{
		observations: f.NewCounterVec(prometheus.CounterOpts{
			Name: "lifeline_observations_total",
			Help: "Observations of the cluster, by source: the watches (watch), the audit log (audit), or the " +
				"commands and writes that lifeline run announces (run, request). If watch stands still while the " +
				"cluster works, see lifeline_source_lag_seconds and the log.",
		}, []string{"source"}),
		delay: f.NewHistogram(prometheus.HistogramOpts{
			Name: "lifeline_observation_delay_seconds",
			Help: "Seconds from an observation until it was stored. Above a few seconds: the disk is slow or the " +
				"process lacks CPU; see lifeline_store_write_seconds and lifeline_engine_look_seconds.",
			Buckets: delayBuckets,
		}),
		stored: f.NewHistogram(prometheus.HistogramOpts{
			Name: "lifeline_convergence_to_stored_seconds",
			Help: "Seconds from the end of a trace's last span until the finished trace was in the journal; this " +
				"includes engine.settle. Much above that: see lifeline_observation_delay_seconds.",
			Buckets: delayBuckets,
		}),
		open: f.NewGauge(prometheus.GaugeOpts{
			Name: "lifeline_open_traces",
			Help: "Open traces. A steady rise: changes do not converge until engine.patience ends their traces; " +
				"list them with lifeline ls --open.",
		}),
		finished: f.NewCounterVec(prometheus.CounterOpts{
			Name: "lifeline_traces_finished_total",
			Help: "Finished traces before sampling, by outcome. A rising share of failed ones is a problem of the " +
				"cluster, not of Lifeline.",
		}, []string{"outcome"}),
		spans: f.NewCounter(prometheus.CounterOpts{
			Name: "lifeline_spans_made_total",
			Help: "Spans of finished traces before sampling, with the amendments of kept traces.",
		}),
		sampledOut: f.NewCounter(prometheus.CounterOpts{
			Name: "lifeline_traces_sampled_out_total",
			Help: "Finished traces dropped by sampling, which lifeline_traces_finished_total counts, too. Too " +
				"many: raise sampling.ratePerMillion.",
		}),
		look: f.NewHistogram(prometheus.HistogramOpts{
			Name: "lifeline_engine_look_seconds",
			Help: "Seconds that the engine needs to update all open traces. Above 0.5: too many traces are open; " +
				"exclude kinds with watch.exclude, or limit each server to some namespaces with watch.namespaces.",
			Buckets: workBuckets,
		}),
		save: f.NewHistogram(prometheus.HistogramOpts{
			Name: "lifeline_engine_save_seconds",
			Help: "Seconds to save the engine's state in the journal, in place of long inputs; the watches wait " +
				"meanwhile. It follows lifeline_engine_objects. Above 2: the process lacks CPU, or the disk is slow.",
			Buckets: workBuckets,
		}),
		objects: f.NewGauge(prometheus.GaugeOpts{
			Name: "lifeline_engine_objects",
			Help: "Objects in the engine. It follows the number of objects in the cluster, and memory follows it; " +
				"exclude kinds with watch.exclude, or limit each server to some namespaces with watch.namespaces.",
		}),
		differences: f.NewCounter(prometheus.CounterOpts{
			Name: "lifeline_engine_differences_total",
			Help: "Open traces that differ from a derivation from nothing, checked at one look in a thousand. " +
				"Above 0: a fault of Lifeline; report it with the log.",
		}),
		inputs: f.NewGauge(prometheus.GaugeOpts{
			Name: "lifeline_journal_bytes",
			Help: "Bytes of observations to replay after a restart. It falls when the engine's state is saved. A " +
				"steady rise: saving fails; see the log.",
		}),
		durations: newDurations(r),
	}
	r.MustRegister(newWriteMetrics(&m.writes), newRequestMetrics(&m.requests))
	return m
}

// count sets the metrics of a stored look.
func (m *loopMetrics) count(l *look, now time.Time) {
	m.look.Observe(l.took.Seconds())
	if l.seen > 0 {
		m.delay.Observe(now.Sub(l.first).Seconds())
	}
	for _, t := range l.finished {
		m.finished.WithLabelValues(string(t.Outcome)).Inc()
		m.spans.Add(float64(len(t.Spans)))
	}
	finished := l.kept(false)
	kept := map[trace.TraceID]bool{}
	for _, t := range finished {
		m.stored.Observe(now.Sub(lastEnd(t)).Seconds())
		kept[t.ID] = true
	}
	m.durations.expect(l.changed)
	m.durations.count(l.finished, kept)
	for _, t := range l.kept(true) {
		m.spans.Add(float64(len(t.Spans)))
	}
	m.sampledOut.Add(float64(len(l.finished) - len(finished)))
	m.open.Set(float64(len(l.prints)))
	m.inputs.Set(float64(l.inputs.bytes))
}

// lastEnd returns the end of t's last span.
func lastEnd(t *span.Trace) time.Time {
	var end time.Time
	for _, s := range t.Spans {
		if s.End.After(end) {
			end = s.End.Time
		}
	}
	return end
}

var (
	observedMetric = telemetry.Counter("lifeline_writes_observed_total",
		"Stored writes that the engine has observed, with the objects found at the start. It is the sum of "+
			"lifeline_writes_total over all fates, and of the writes that the engine still works on.")
	writesMetric = telemetry.Counter("lifeline_writes_total",
		"Stored writes by fate. In a trace: a change or its effect (traced), or a repeated change that the first "+
			"one's trace counts (series). Steps: a status or bookkeeping write, or an update of an EndpointSlice "+
			"(step). "+
			"Others: a write without a trace (noise), an object found at the start (baseline).", "fate")
)

// newWriteMetrics returns a collector of the engine's counts of writes.
func newWriteMetrics(last *latest[lifecycle.WriteStats]) prometheus.Collector {
	return telemetry.Collector(func(to telemetry.Scrape) {
		s := last.get()
		to.Value(observedMetric, float64(s.Observed))
		for fate, n := range s.ByFate() {
			to.Value(writesMetric, float64(n), fate)
		}
	}, observedMetric, writesMetric)
}

var requestsMetric = telemetry.Counter("lifeline_audit_writes_total",
	"Granted writes of the audit log since the start, by result. Joined: the stored write is known, and gives the "+
		"trace. Found: in a trace of its own, because only the log shows it. Not joined: ambiguous (several stored "+
		"writes are possible), unmatched (no stored write was observed), late (after the handout of the trace), "+
		"dropped (no room). A rising share of unmatched ones: see the audit log and the rights of the server.",
	"result")

// newRequestMetrics returns a collector of the engine's counts of requests in the audit log.
func newRequestMetrics(last *latest[lifecycle.AuditStats]) prometheus.Collector {
	return telemetry.Collector(func(to telemetry.Scrape) {
		s := last.get()
		for result, n := range map[string]uint64{
			"joined": s.Joined, "found": s.Found, "ambiguous": s.Ambiguous, "unmatched": s.Unmatched, "late": s.Late,
			"dropped": s.Dropped,
		} {
			to.Value(requestsMetric, float64(n), result)
		}
	}, requestsMetric)
}
