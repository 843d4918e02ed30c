// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kube-lifeline/lifeline/app/internal/telemetry"
)

var (
	spansMetric = telemetry.Counter("lifeline_receiver_spans_total",
		"Received spans of other components. If it stands still: the components send nothing, or to another "+
			"address; see their tracing configuration.")
	requestsMetric = telemetry.Counter("lifeline_receiver_requests_total",
		"Accepted OTLP requests, by transport (grpc, http/protobuf, http/json).", "transport")
	rejectedMetric = telemetry.Counter("lifeline_receiver_spans_rejected_total",
		"Invalid received spans, by invalid field (id, time); the response names them. Any: the sender or its "+
			"clock is broken.", "reason")
	refusedMetric = telemetry.Counter("lifeline_receiver_requests_refused_total",
		"Refused OTLP requests, by reason. Senders repeat those with full or busy: the disk is slow or the "+
			"process lacks CPU. The sender is at fault for slow, large, malformed, foreign (not OTLP) and "+
			"unauthenticated (no token). Any bug: a fault of Lifeline, please report it.", "reason")
	cutMetric = telemetry.Counter("lifeline_receiver_cut_total",
		"Parts removed from received spans, by kind. Above a limit: attribute, event, link, nesting, text. "+
			"Attributes that only Lifeline may set: reserved. Spans that Lifeline sent itself, returned by a "+
			"Collector: returned. Possibly secret values in URLs and attributes, such as the command of an exec: "+
			"command. Text of messages that may quote values: message.", "what")
)

// RegisterMetrics registers the metrics of a Receiver. Each scrape calls stats.
func RegisterMetrics(r prometheus.Registerer, stats func() Stats) {
	r.MustRegister(telemetry.Collector(func(to telemetry.Scrape) {
		s := stats()
		to.Value(spansMetric, float64(s.Accepted))
		for m, by := range map[telemetry.Metric]map[string]uint64{
			requestsMetric: s.Requests, rejectedMetric: s.Rejected, refusedMetric: s.Refused, cutMetric: s.Cut,
		} {
			for label, n := range by {
				to.Value(m, float64(n), label)
			}
		}
	}, spansMetric, requestsMetric, rejectedMetric, refusedMetric, cutMetric))
}
