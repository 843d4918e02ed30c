// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// apiMetrics are the metrics of the API. It implements api.Metrics.
type apiMetrics struct {
	requests *prometheus.CounterVec // path, code
	streams  prometheus.Gauge
	cut      prometheus.Counter
	panics   prometheus.Counter
}

func newAPIMetrics(r prometheus.Registerer) *apiMetrics {
	f := promauto.With(r)
	return &apiMetrics{
		requests: f.NewCounterVec(prometheus.CounterOpts{
			Name: "lifeline_api_requests_total",
			Help: "Responses of the HTTP API, by the path's pattern and the status. 500: see the log. 503: more " +
				"streams than api.maxStreams, more than 64 other requests, an archive that cannot be read, no " +
				"decision of the API server about the caller, or the " +
				"start or end of the server (at the start, all paths are /). 504: no answer within 30 s. 499: the " +
				"client disconnected first.",
		}, []string{"path", "code"}),
		streams: f.NewGauge(prometheus.GaugeOpts{
			Name: "lifeline_api_streams",
			Help: "Open streams of watching clients. At api.maxStreams, further ones are rejected.",
		}),
		cut: f.NewCounter(prometheus.CounterOpts{
			Name: "lifeline_api_streams_cut_total",
			Help: "Streams closed because the client did not read.",
		}),
		panics: f.NewCounter(prometheus.CounterOpts{
			Name: "lifeline_api_panics_total",
			Help: "Requests that failed with status 500 because of a bug in Lifeline. Any: please report it with " +
				"the stack from the log.",
		}),
	}
}

// Request implements api.Metrics.
func (m *apiMetrics) Request(path string, code int) {
	m.requests.WithLabelValues(path, strconv.Itoa(code)).Inc()
}

// StreamOpened implements api.Metrics.
func (m *apiMetrics) StreamOpened() { m.streams.Inc() }

// StreamClosed implements api.Metrics.
func (m *apiMetrics) StreamClosed(cut bool) {
	m.streams.Dec()
	if cut {
		m.cut.Inc()
	}
}

// Panicked implements api.Metrics.
func (m *apiMetrics) Panicked() { m.panics.Inc() }
