// SPDX-License-Identifier: Apache-2.0

package otlp

import "github.com/prometheus/client_golang/prometheus"

var (
	spansMetric = prometheus.NewDesc("lifeline_receiver_spans_total",
		"Received spans of other components. If it stands still: the components send nothing, or to another "+
			"address; see their tracing configuration.", nil, nil)
	requestsMetric = prometheus.NewDesc("lifeline_receiver_requests_total",
		"Accepted OTLP requests, by transport (grpc, http/protobuf, http/json).", []string{"transport"}, nil)
	rejectedMetric = prometheus.NewDesc("lifeline_receiver_spans_rejected_total",
		"Invalid received spans, by invalid field (id, time); the response names them. Any: the sender or its "+
			"clock is broken.", []string{"reason"}, nil)
	refusedMetric = prometheus.NewDesc("lifeline_receiver_requests_refused_total",
		"Refused OTLP requests, by reason. Senders repeat those with full or busy: the disk is slow or the "+
			"process lacks CPU. The sender is at fault for slow, large, malformed, foreign (not OTLP) and "+
			"unauthenticated (no token). Any bug: a fault of Lifeline, please report it.", []string{"reason"}, nil)
	cutMetric = prometheus.NewDesc("lifeline_receiver_cut_total",
		"Parts removed from received spans, by kind. Above a limit: attribute, event, link, nesting, text. "+
			"Attributes that only Lifeline may set: reserved. Spans that Lifeline sent itself, returned by a "+
			"Collector: returned. Possibly secret values in URLs and attributes, such as the command of an exec: "+
			"command. Text of messages that may quote values: message.", []string{"what"}, nil)
)

// RegisterMetrics registers the metrics of a Receiver. Each scrape calls stats.
func RegisterMetrics(r prometheus.Registerer, stats func() Stats) { r.MustRegister(metrics(stats)) }

// metrics is a prometheus.Collector of Stats.
type metrics func() Stats

// Describe implements prometheus.Collector.
func (metrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{spansMetric, requestsMetric, rejectedMetric, refusedMetric, cutMetric} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (stats metrics) Collect(to chan<- prometheus.Metric) {
	s := stats()
	to <- prometheus.MustNewConstMetric(spansMetric, prometheus.CounterValue, float64(s.Accepted))
	for _, m := range []struct {
		desc *prometheus.Desc
		by   map[string]uint64
	}{
		{requestsMetric, s.Requests},
		{rejectedMetric, s.Rejected},
		{refusedMetric, s.Refused},
		{cutMetric, s.Cut},
	} {
		for label, n := range m.by {
			if n > 0 {
				to <- prometheus.MustNewConstMetric(m.desc, prometheus.CounterValue, float64(n), label)
			}
		}
	}
}
