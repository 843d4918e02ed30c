// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kube-lifeline/lifeline/app/internal/webhook/review"
)

// metrics are the metrics of a Server with values of their own. The others are counts of its handler.
type metrics struct {
	contexts *prometheus.CounterVec // evidence
	seconds  prometheus.Histogram
}

// newMetrics registers the metrics of a Server. Each scrape calls stats.
func newMetrics(r prometheus.Registerer, stats func() review.Stats) *metrics {
	m := &metrics{
		contexts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lifeline_admission_contexts_total",
			Help: "Contexts given to objects at admission, by evidence: the context of the request (request), the " +
				"open reconciliation of the owner (owner), or a new trace (none).",
		}, []string{"evidence"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "lifeline_admission_seconds",
			Help: "Seconds from the header of a call until its response. Above 0.1: the process lacks CPU, and " +
				"delays every write, for a second at most.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1},
		}),
	}
	count := func(name, help string, of func(review.Stats) uint64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "lifeline_admission_" + name, Help: help},
			func() float64 { return float64(of(stats())) })
	}
	r.MustRegister(m.contexts, m.seconds,
		count("reviews_total",
			"Answered admission calls of the API server. If it stands still while the cluster works: the webhook is "+
				"not installed, or not reachable; see lifeline doctor.",
			func(s review.Stats) uint64 { return s.Reviews }),
		count("refused_contexts_total",
			"Replaced contexts of writers that may not supply one (webhook.suppliers). Any: the log names the writer.",
			func(s review.Stats) uint64 { return s.Refused }),
		count("malformed_total",
			"Requests to the webhook that are not complete admission reviews. Any: a client other than the API server "+
				"reaches it.",
			func(s review.Stats) uint64 { return s.Malformed }),
		count("busy_total",
			"Calls without an answer because of too many connections or large reviews; those writes have no context. "+
				"Any: the process lacks CPU, or a client other than the API server reaches it.",
			func(s review.Stats) uint64 { return s.Busy }),
		count("failed_total",
			"Calls that failed because of a bug in Lifeline; those writes have no context. Any: please report it with "+
				"the stack from the log.",
			func(s review.Stats) uint64 { return s.Failed }),
	)
	return m
}
