// SPDX-License-Identifier: Apache-2.0

package replica

import "github.com/prometheus/client_golang/prometheus"

// NewLeaderMetric registers and returns the metric of leadership: 1 while this process sends, else 0.
func NewLeaderMetric(r prometheus.Registerer) prometheus.Gauge {
	leader := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "lifeline_leader",
		Help: "1 if this replica sends spans; 0 if it stands by, or cannot renew its Lease. The sum over " +
			"replicas in mode standby is 1, and briefly 0 during a change.",
	})
	r.MustRegister(leader)
	return leader
}
