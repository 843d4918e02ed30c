// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kube-lifeline/lifeline/app/internal/telemetry"
)

var eventsMetric = telemetry.Counter("lifeline_audit_events_total",
	"Events of the API server's audit log, by result. Used: write. Skipped: stage (before the response), read, "+
		"excluded, not stored, dry run, unchanged, unnamed, unknown kind, unauthenticated. Unreadable: damaged, "+
		"overlong. Refused requests: refused with the HTTP status, such as refused 401. Possibly lost before "+
		"they were read: gap. Any damaged one or gap: see the log.", "what")

// RegisterMetrics registers the metrics of all sources. Each scrape calls stats.
func RegisterMetrics(r prometheus.Registerer, stats func() []Stats) {
	r.MustRegister(telemetry.Collector(func(to telemetry.Scrape) {
		total := map[string]uint64{}
		for _, s := range stats() {
			total["write"] += s.Writes
			total["damaged"] += s.Damaged
			total["overlong"] += s.Overlong
			total["gap"] += s.Gaps
			for reason, n := range s.Passed {
				total[reason] += n
			}
			for code, n := range s.Refused {
				total["refused "+strconv.Itoa(code)] += n
			}
		}
		for what, n := range total {
			to.Value(eventsMetric, float64(n), what)
		}
	}, eventsMetric))
}
