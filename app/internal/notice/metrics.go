// SPDX-License-Identifier: Apache-2.0

package notice

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kube-lifeline/lifeline/app/internal/telemetry"
)

var (
	sentMetric = telemetry.Counter("lifeline_notices_sent_total",
		"Notices that a receiver (notices.receivers) has accepted, by receiver and type.", "receiver", "type")
	lostMetric = telemetry.Counter("lifeline_notices_lost_total",
		"Lost notices, by receiver and reason: refused by the receiver (refused), or too many were waiting (full). "+
			"Any: the log has the receiver's answer.", "receiver", "reason")
	failuresMetric = telemetry.Counter("lifeline_notices_failures_total",
		"Failed attempts to deliver notices, by receiver. Each is repeated. The log has the first error.", "receiver")
	waitingMetric = telemetry.Gauge("lifeline_notices_waiting",
		"Notices that wait for a receiver. A steady rise: it does not answer; see the log.", "receiver")

	changeLabels = []string{"kind", "category", "namespace"}
	failedMetric = telemetry.Counter("lifeline_changes_failed_total",
		"Failed changes since the start, by the kind and the namespace of the changed object and the category of the "+
			"reason (docs/reasons.md). Beyond 500 pairs of kind and namespace, both are (other). List them with "+
			"lifeline ls --failed.", changeLabels...)
	problemsMetric = telemetry.Gauge("lifeline_problems",
		"Problems now (docs/problems.md), by the kind and the namespace of an object and the category of the reason, "+
			"bounded as in lifeline_changes_failed_total. A problem counts once in each namespace of its objects. "+
			"Any: lifeline why -n NAMESPACE lists them.", changeLabels...)
	slowerMetric = telemetry.Gauge("lifeline_regressions",
		"Phases that are slower now, by more than chance, by the kind and the namespace of the objects and the phase, "+
			"bounded as in lifeline_changes_failed_total. It is that of the last report (regressions.interval). Any: "+
			"lifeline regressions lists them.", "kind", "namespace", "phase")
)

// RegisterMetrics registers the metrics of Senders and of Counts. Each scrape calls stats.
func RegisterMetrics(r prometheus.Registerer, stats func() []Stats, counts *Counts) {
	r.MustRegister(telemetry.Collector(func(to telemetry.Scrape) {
		for _, s := range stats() {
			for typ, n := range s.Sent {
				to.Value(sentMetric, float64(n), s.Receiver, string(typ))
			}
			to.Value(lostMetric, float64(s.Refused), s.Receiver, "refused")
			to.Value(lostMetric, float64(s.Dropped), s.Receiver, "full")
			to.Value(failuresMetric, float64(s.Failures), s.Receiver)
			to.Value(waitingMetric, float64(s.Waiting), s.Receiver)
		}
		values := func(m telemetry.Metric) func(Labels, int64) {
			return func(l Labels, n int64) { to.Value(m, float64(n), l.Kind, l.Category, l.Namespace) }
		}
		counts.Each(values(problemsMetric), values(failedMetric))
		counts.EachRegression(func(l Labels, n int64) {
			to.Value(slowerMetric, float64(n), l.Kind, l.Namespace, l.Category)
		})
	}, sentMetric, lostMetric, failuresMetric, waitingMetric, failedMetric, problemsMetric, slowerMetric))
}
