// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are the metrics of `lifeline serve`, on a separate registry. Create one with NewMetrics.
// A field's comment lists its labels in order. Labels have few values: never a name from a cluster,
// except kinds and a bounded number of namespaces. Times are in seconds, sizes in bytes. All metrics are
// safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	// mu is held during refresh.
	mu      sync.Mutex
	refresh func(*Metrics)

	// Observations.
	Observations     *Total               // source
	SourceLag        *prometheus.GaugeVec // source
	ObservationDelay prometheus.Histogram // seen → stored
	WatchRequests    *Total               // resource, verb
	WatchErrors      *Total               // resource, kind
	WatchDelay       *prometheus.GaugeVec // resource
	ClockJumps       *Total

	// Data from other components.
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

	// Admission reviews from the API server.
	AdmissionReviews   *Total
	AdmissionContexts  *Total // evidence
	AdmissionRefused   *Total
	AdmissionMalformed *Total
	AdmissionBusy      *Total
	AdmissionFailed    *Total
	AdmissionSeconds   prometheus.Histogram

	// Traces and spans.
	ConvergenceToStored prometheus.Histogram // a trace's last end → visible
	OpenTraces          prometheus.Gauge
	TracesFinished      *Total // outcome
	SpansMade           *Total
	TracesSampledOut    *Total
	ChangesFailed       *Total               // kind, category, namespace
	ChangesStuck        *prometheus.GaugeVec // kind, category, namespace
	EngineLook          prometheus.Histogram
	EngineSave          prometheus.Histogram
	WritesObserved      *Total
	Writes              *Total // fate
	EngineObjects       prometheus.Gauge
	EngineDifferences   *Total
	RelationMatches     *Total // relation
	RelationKeyless     *Total // relation, side

	// Notices.
	NoticesSent    *Total // type
	NoticesLost    *Total // reason
	NoticesWaiting prometheus.Gauge

	// Export.
	SpansExported  *Total
	SpansDropped   *Total // reason
	SpansRefused   *Total
	OutboxSpans    prometheus.Gauge
	OutboxOldest   prometheus.Gauge // age in seconds
	DeliveredRatio prometheus.Gauge // set by Deliver

	// Store.
	StoreBytes   prometheus.Gauge
	StoreTraces  prometheus.Gauge
	StoreErrors  *Total
	StoresLost   *Total
	StoreWrite   prometheus.Histogram
	JournalBytes prometheus.Gauge
	// The archive.
	ArchiveWrite   prometheus.Histogram
	ArchiveWaiting prometheus.Gauge // bytes
	ArchiveDropped *Total           // spans

	// API clients, configuration and leadership.
	APIRequests   *Total // path, code
	APIStreams    prometheus.Gauge
	APIStreamsCut *Total
	APIPanics     *Total
	ConfigReloads *Total // result
	Leader        prometheus.Gauge
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

// Deliver sets the share of delivered spans. The total is delivered, dropped, refused and waiting
// spans. The share is 1 for a total of zero.
func (m *Metrics) Deliver(delivered, dropped, refused, waiting int64) {
	ratio := 1.0
	if all := delivered + dropped + refused + waiting; all > 0 {
		ratio = float64(delivered) / float64(all)
	}
	m.DeliveredRatio.Set(ratio)
}
