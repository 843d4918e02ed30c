// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics is what `lifeline serve` counts and measures, on a registry of its
// own. Make one with NewMetrics. Labels are given in the order that the comment
// of each names, and have few values: never a name out of a cluster, save kinds.
// Times are in seconds, sizes in bytes. All may be used from any goroutine.
type Metrics struct {
	registry *prometheus.Registry
	// mu is held while refresh runs.
	mu      sync.Mutex
	refresh func(*Metrics)

	// What is seen.
	Observations     *Total               // source
	SourceLag        *prometheus.GaugeVec // source
	ObservationDelay prometheus.Histogram // seen → stored
	WatchRequests    *Total               // resource, verb
	WatchErrors      *Total               // resource, kind
	ClockJumps       *Total

	// What other components send.
	SpansReceived    *Total
	ReceiverRequests *Total // transport
	SpansRejected    *Total // reason
	ReceiverRefused  *Total // reason
	SpansCut         *Total // what
	SpansJoined      *Total // when
	SpansUnjoined    *Total // why
	AuditEvents      *Total // what
	ImpossibleTimes  *Total // source
	SpansBuffered    prometheus.Gauge
	SpansBufferBytes prometheus.Gauge
	CopiesBytes      prometheus.Gauge
	SpansUncopied    *Total

	// What the API server asks when objects are written.
	AdmissionReviews   *Total
	AdmissionContexts  *Total // evidence
	AdmissionRefused   *Total
	AdmissionMalformed *Total
	AdmissionBusy      *Total
	AdmissionFailed    *Total
	AdmissionSeconds   prometheus.Histogram

	// What is made of it.
	ConvergenceToStored prometheus.Histogram // a trace's last end → visible
	OpenTraces          prometheus.Gauge
	TracesFinished      *Total // outcome
	SpansMade           *Total
	TracesSampledOut    *Total
	EngineLook          prometheus.Histogram
	EngineObjects       prometheus.Gauge

	// What is sent.
	SpansExported  *Total
	SpansDropped   *Total // reason
	SpansRefused   *Total
	OutboxSpans    prometheus.Gauge
	OutboxOldest   prometheus.Gauge // age in seconds
	DeliveredRatio prometheus.Gauge // set by Deliver

	// What is kept.
	StoreBytes   prometheus.Gauge
	StoreTraces  prometheus.Gauge
	StoreErrors  *Total
	StoresLost   *Total
	StoreWrite   prometheus.Histogram
	JournalBytes prometheus.Gauge

	// Who asks, and who works.
	APIRequests   *Total // path, code
	APIStreams    prometheus.Gauge
	APIStreamsCut *Total
	APIPanics     *Total
	ConfigReloads *Total // result
	Leader        prometheus.Gauge
	ShardMembers  prometheus.Gauge
	ShardEpoch    prometheus.Gauge
}

// Request implements api.Metrics.
func (m *Metrics) Request(path string, code int) { m.APIRequests.Inc(path, strconv.Itoa(code)) }

// StreamOpened implements api.Metrics.
func (m *Metrics) StreamOpened() { m.APIStreams.Inc() }

// StreamClosed implements api.Metrics.
func (m *Metrics) StreamClosed(cut bool) {
	m.APIStreams.Dec()
	if cut {
		m.APIStreamsCut.Inc()
	}
}

// Panicked implements api.Metrics.
func (m *Metrics) Panicked() { m.APIPanics.Inc() }

// Deliver sets the share of spans that have arrived, of all that were meant to:
// those delivered, dropped, refused and waiting. It is 1 while there were none.
func (m *Metrics) Deliver(delivered, dropped, refused, waiting int64) {
	ratio := 1.0
	if all := delivered + dropped + refused + waiting; all > 0 {
		ratio = float64(delivered) / float64(all)
	}
	m.DeliveredRatio.Set(ratio)
}
