// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

const namespace = "lifeline"

// Buckets of histograms, in seconds: for work in this process, for the API server's waits, and for
// a user's actions.
var (
	work  = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
	brief = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1}
	delay = []float64{.05, .1, .25, .5, .75, 1, 1.5, 2, 3, 5, 10, 30, 60, 300, 1800}
)

// NewMetrics returns Metrics with zero values, and those of Go and of the process. refresh is
// called before each scrape, to set values that are cheaper to read than to follow; scrapes wait
// for it. It may be nil.
func NewMetrics(refresh func(*Metrics)) *Metrics {
	d := definer{registry: prometheus.NewRegistry()}
	m := &Metrics{registry: d.registry, refresh: refresh}
	m.registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	d.seen(m)
	d.received(m)
	d.admitted(m)
	d.made(m)
	d.told(m)
	d.sent(m)
	d.kept(m)
	d.working(m)
	m.DeliveredRatio.Set(1)
	return m
}

// definer creates and registers metrics.
type definer struct{ registry *prometheus.Registry }

func (d definer) seen(m *Metrics) {
	m.Observations = d.total("observations_total",
		"Observations of the cluster, by source: the watches (watch), the audit log (audit), or the commands and "+
			"writes that lifeline run announces (run, request). If watch stands still while the cluster works, see "+
			"lifeline_source_lag_seconds and the log.", "source")
	m.SourceLag = d.gauges("source_lag_seconds",
		"Seconds since the watches were last known to be up to date (source watch). Above a minute: the API server "+
			"does not answer, or permissions are missing; see the log.", "source")
	m.ObservationDelay = d.histogram("observation_delay_seconds",
		"Seconds from an observation until it was stored. Above a few seconds: the disk is slow or the process "+
			"lacks CPU; see lifeline_store_write_seconds and lifeline_engine_look_seconds.", delay)
	m.WatchRequests = d.total("watch_requests_total",
		"Requests of the watches to the API server, by resource and verb (list or watch). A steady rise of lists: "+
			"watches break, or resourceVersions expire; see the log.", "resource", "verb")
	m.WatchDelay = d.gauges("watch_delay_seconds",
		"Seconds from a write until a watch has observed it, by resource: the longest in half a minute, to the "+
			"second. It is by the API server's clock, so it includes the difference of the clocks; 0 without "+
			"changes. Above 10 for long: the process lacks CPU, and traces may finish without the objects of that "+
			"resource; exclude kinds with watch.exclude, or limit each server to some namespaces with "+
			"watch.namespaces.", "resource")
	m.WatchErrors = d.total("watch_errors_total",
		"Failed requests of the watches, which are retried, by resource and kind of error: unreachable, slow, "+
			"unauthorized, forbidden, missing, gone (the resourceVersion is too old), busy, server, other. A steady "+
			"rise: the log has the error; for forbidden, lifeline rbac prints the rights.", "resource", "kind")
	m.ClockJumps = d.total("clock_jumps_total",
		"Jumps of the machine's clock. Any: times of spans near the jump are wrong; see the machine's time "+
			"service.")
}

func (d definer) received(m *Metrics) {
	m.SpansReceived = d.total("receiver_spans_total",
		"Received spans of other components. If it stands still: the components send nothing, or to another "+
			"address; see their tracing configuration.")
	m.ReceiverRequests = d.total("receiver_requests_total",
		"Accepted OTLP requests, by transport (grpc, http/protobuf, http/json).", "transport")
	m.SpansRejected = d.total("receiver_spans_rejected_total",
		"Invalid received spans, by invalid field (id, time); the response names them. Any: the sender or its "+
			"clock is broken.", "reason")
	m.ReceiverRefused = d.total("receiver_requests_refused_total",
		"Refused OTLP requests, by reason. Senders repeat those with full or busy: the disk is slow or the "+
			"process lacks CPU. The sender is at fault for slow, large, malformed, foreign (not OTLP) and "+
			"unauthenticated (no token). Any bug: a fault of Lifeline, please report it.", "reason")
	m.SpansCut = d.total("receiver_cut_total",
		"Parts removed from received spans, by kind. Above a limit: attribute, event, link, nesting, text. "+
			"Attributes that only Lifeline may set: reserved. Spans that Lifeline sent itself, returned by a "+
			"Collector: returned. Possibly secret values in URLs and attributes, such as the command of an exec: "+
			"command. Text of messages that may quote values: message.",
		"what")
	m.SpansJoined = d.total("joined_spans_total",
		"Received spans of a change, by arrival before its trace was finished (with) or later (after). Many late "+
			"ones: the components' clocks or batches are late.", "when")
	m.SpansUnjoined = d.total("unjoined_spans_total",
		"Received spans without a change. Why: polls and reads (noise), repeated spans (repeated), Lifeline's own "+
			"spans (own), spans sent on unchanged (passed), spans dropped by joining.unjoined or for lack "+
			"of room (dropped). Too many spans: in the buffer (evicted) or in one trace (surplus). Too late or too "+
			"far: the trace was finished more than an hour ago (overdue), or is more than an hour away (untimely). "+
			"Evicted ones: lower the components' sampling rates. Overdue or untimely ones: a sender was away for "+
			"long, its clock is wrong, or its spans are forged.", "why")
	m.AuditEvents = d.total("audit_events_total",
		"Events of the API server's audit log, by result. Used: write. Skipped: stage (before the response), read, "+
			"excluded, not stored, dry run, unchanged, unnamed, unknown kind, unauthenticated. Unreadable: damaged, "+
			"overlong. Refused requests: refused with the HTTP status, such as refused 401. Possibly lost before "+
			"they were read: gap. Any damaged one or gap: see the log.",
		"what",
	)
	m.ImpossibleTimes = d.total("impossible_times_total",
		"Impossible times, before 2000 or more than ten minutes ahead, that were replaced, by source: watch "+
			"(times in Events and statuses) or audit (events of the audit log). Any: a clock is wrong, or times are "+
			"forged.", "source")
	m.SpansBuffered = d.gauge("joining_spans",
		"Received spans in the buffer, until their change is finished or they have none.")
	m.SpansBufferBytes = d.gauge("joining_bytes",
		"Approximate bytes of the spans in the buffer (lifeline_joining_spans).")
	m.CopiesBytes = d.gauge("joining_copies_bytes",
		"Bytes of copies of buffered spans in the journal, for a restart. At 64 MiB the oldest copies are removed.")
	m.SpansUncopied = d.total("joining_uncopied_spans_total",
		"Buffered spans without a copy, for lack of space; a killed process loses them. Any: lower the "+
			"components' sampling rates, or joining.window.")
}

func (d definer) admitted(m *Metrics) {
	m.AdmissionReviews = d.total("admission_reviews_total",
		"Answered admission calls of the API server. If it stands still while the cluster works: the webhook is "+
			"not installed, or not reachable; see lifeline doctor.")
	m.AdmissionContexts = d.total("admission_contexts_total",
		"Contexts given to objects at admission, by evidence: the context of the request (request), the open "+
			"reconciliation of the owner (owner), or a new trace (none).", "evidence")
	m.AdmissionRefused = d.total("admission_refused_contexts_total",
		"Replaced contexts of writers that may not supply one (webhook.suppliers). Any: the log names the writer.")
	m.AdmissionMalformed = d.total("admission_malformed_total",
		"Requests to the webhook that are not complete admission reviews. Any: a client other than the API server "+
			"reaches it.")
	m.AdmissionBusy = d.total("admission_busy_total",
		"Calls without an answer because of too many connections or large reviews; those writes have no context. "+
			"Any: the process lacks CPU, or a client other than the API server reaches it.")
	m.AdmissionFailed = d.total("admission_failed_total",
		"Calls that failed because of a bug in Lifeline; those writes have no context. Any: please report it with "+
			"the stack from the log.")
	m.AdmissionSeconds = d.histogram("admission_seconds",
		"Seconds from the header of a call until its response. Above 0.1: the process lacks CPU, and delays every "+
			"write, for a second at most.", brief)
}

func (d definer) made(m *Metrics) {
	m.ConvergenceToStored = d.histogram("convergence_to_stored_seconds",
		"Seconds from the end of a trace's last span until the finished trace was in the journal; this includes "+
			"engine.settle. Much above that: see lifeline_observation_delay_seconds.", delay)
	m.OpenTraces = d.gauge("open_traces",
		"Open traces. A steady rise: changes do not converge until engine.patience ends their traces; list them "+
			"with lifeline ls --open.")
	m.TracesFinished = d.total("traces_finished_total",
		"Finished traces before sampling, by outcome. A rising share of failed ones is a problem of the cluster, not "+
			"of Lifeline.",
		"outcome")
	m.ChangesFailed = d.total("changes_failed_total",
		"Failed changes since the start, by the kind and the namespace of the changed object and the category of the "+
			"reason (docs/reasons.md). Beyond 500 pairs of kind and namespace, both are (other). List them with "+
			"lifeline ls --failed.", "kind", "category", "namespace")
	m.ChangesStuck = d.gauges("changes_stuck",
		"Open changes with a reason why they do not continue, with the labels of lifeline_changes_failed_total. "+
			"Above 0 for long: ask lifeline why for the object.", "kind", "category", "namespace")
	m.SpansMade = d.total("spans_made_total",
		"Spans of finished traces before sampling, with the amendments of kept traces.")
	m.TracesSampledOut = d.total("traces_sampled_out_total",
		"Finished traces dropped by sampling, which lifeline_traces_finished_total counts, too. Too many: "+
			"raise sampling.ratePerMillion.")
	m.EngineLook = d.histogram("engine_look_seconds",
		"Seconds that the engine needs to update all open traces. Above 0.5: too many traces are open; exclude "+
			"kinds with watch.exclude, or limit each server to some namespaces with watch.namespaces.", work)
	m.EngineSave = d.histogram("engine_save_seconds",
		"Seconds to save the engine's state in the journal, in place of long inputs; the watches wait meanwhile. It "+
			"follows lifeline_engine_objects. Above 2: the process lacks CPU, or the disk is slow.", work)
	m.WritesObserved = d.total("writes_observed_total",
		"Stored writes that the engine has observed, with the objects found at the start. It is the sum of "+
			"lifeline_writes_total over all fates, and of the writes that the engine still works on.")
	m.Writes = d.total("writes_total",
		"Stored writes by fate. In a trace: a change or its effect (traced), or a repeated change that the first "+
			"one's trace counts (series). Steps: a status or bookkeeping write, or an update of an EndpointSlice "+
			"(step). "+
			"Others: a write without a trace (noise), an object found at the start (baseline).", "fate")
	m.EngineDifferences = d.total("engine_differences_total",
		"Open traces that differ from a derivation from nothing, checked at one look in a thousand. Above 0: a "+
			"fault of Lifeline; report it with the log.")
	m.RelationMatches = d.total("relation_matches_total",
		"Pairs of objects related by a relation of the configuration, by its name. 0 for long: the relation is wrong, "+
			"or its objects are not watched; see lifeline doctor.", "relation")
	m.RelationKeyless = d.total("relation_keyless_total",
		"Observed versions of objects of a relation's kinds without a key, by the relation and its side (from, to). "+
			"Normal for objects outside the relation: a field is missing, or a condition is false.", "relation", "side")
	m.EngineObjects = d.gauge("engine_objects",
		"Objects in the engine. It follows the number of objects in the cluster, and memory follows it; exclude "+
			"kinds with watch.exclude, or limit each server to some namespaces with watch.namespaces.")
}

func (d definer) sent(m *Metrics) {
	m.SpansExported = d.total("spans_exported_total",
		"Spans that the OTLP backend has accepted.")
	m.SpansDropped = d.total("spans_dropped_total",
		"Spans dropped before the backend accepted them, by reason: they waited for longer than otlp.outbox.maxAge "+
			"(age), more than otlp.outbox.maxSpans waited (full), or the journal "+
			"cannot read them (unreadable). Any: the backend was away for too long; if unreadable, see the log.",
		"reason")
	m.SpansRefused = d.total("spans_refused_total",
		"Spans that the OTLP backend has refused permanently. Any: the log has its reason.")
	m.OutboxSpans = d.gauge("outbox_spans",
		"Spans that wait for the OTLP backend. A steady rise: the backend is down or too slow.")
	m.OutboxOldest = d.gauge("outbox_oldest_seconds",
		"Age in seconds of the oldest span that waits for the OTLP backend; 0 without one. Near "+
			"otlp.outbox.maxAge: spans are about to be dropped; check the backend.")
	m.DeliveredRatio = d.gauge("export_delivered_ratio",
		"Share of the spans for the OTLP backend that it has accepted: delivered / (delivered + dropped + refused "+
			"+ waiting), from 0 to 1. Below 0.999 for long: see lifeline_outbox_spans, lifeline_spans_dropped_total "+
			"and lifeline_spans_refused_total.")
}

func (d definer) told(m *Metrics) {
	m.NoticesSent = d.total("notices_sent_total",
		"Notices that the webhook (notices.url) has accepted, by type.", "type")
	m.NoticesLost = d.total("notices_lost_total",
		"Lost notices, by reason: refused by the webhook (refused), or too many were waiting (full). Any: the log has "+
			"the webhook's answer.", "reason")
	m.NoticesWaiting = d.gauge("notices_waiting",
		"Notices that wait for the webhook. A steady rise: it does not answer; see the log.")
}

func (d definer) kept(m *Metrics) {
	m.StoreBytes = d.gauge("store_bytes",
		"Size of the archive on disk in bytes. Above retention.size for long: pruning is too slow; see the log.")
	m.StoreTraces = d.gauge("store_traces",
		"Traces in the archive, and open and waiting ones. Retention limits them.")
	m.StoreErrors = d.total("store_errors_total",
		"Failed writes to the journal and the archive, and failed removals of old traces, which are retried. "+
			"Nothing is lost. Until the journal can be written, the server takes no observations; finished traces "+
			"wait in it for the archive. Any: see the log; usually the disk is full.")
	m.StoresLost = d.total("stores_lost_total",
		"Journals and archives that were deleted, overwritten or damaged while the server ran; a new file began. "+
			"Any: the log has the fault and the place of the old file.")
	m.StoreWrite = d.histogram("store_write_seconds",
		"Seconds to store one look in the journal. Above 0.5: the disk is slow.", work)
	m.JournalBytes = d.gauge("journal_bytes",
		"Bytes of observations to replay after a restart. It falls when the engine's state is saved. A steady "+
			"rise: saving fails; see the log.")
	m.ArchiveWrite = d.histogram("archive_write_seconds",
		"Seconds to write the traces of one look to the archive. Above 1: the disk is slow.", work)
	m.ArchiveWaiting = d.gauge("archive_waiting_bytes",
		"Bytes of finished traces that wait in the journal for the archive. A steady rise: the archive cannot be "+
			"written; see the log. At 1 GiB, or after 24 hours, the oldest are dropped.")
	m.ArchiveDropped = d.total("archive_dropped_spans_total",
		"Spans that were dropped before they were archived: the journal's limits were reached, its file was lost, "+
			"or the archive refused a trace. Any: see the log.")
}

func (d definer) working(m *Metrics) {
	m.APIRequests = d.total("api_requests_total",
		"Responses of the HTTP API, by the path's pattern and the status. 500: see the log. 503: more streams than "+
			"api.maxStreams, more than 64 other requests, an archive that cannot be read, or the start or end of "+
			"the server (at the start, all paths are /). 504: no answer within 30 s. 499: the client disconnected "+
			"first.", "path", "code")
	m.APIStreams = d.gauge("api_streams",
		"Open streams of watching clients. At api.maxStreams, further ones are rejected.")
	m.APIStreamsCut = d.total("api_streams_cut_total",
		"Streams closed because the client did not read.")
	m.APIPanics = d.total("api_panics_total",
		"Requests that failed with status 500 because of a bug in Lifeline. Any: please report it with the stack "+
			"from the log.")
	m.ConfigReloads = d.total("config_reloads_total",
		"Reloads of the configuration file, by result (taken, refused). Any refused: the log has the reason; the "+
			"old configuration stays.", "result")
	m.Leader = d.gauge("leader",
		"1 if this replica sends spans; 0 if it stands by, or cannot renew its Lease. The sum over "+
			"replicas in mode standby is 1, and briefly 0 during a change.")
}

func (d definer) total(name, help string, labels ...string) *Total {
	vec := register(d, prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help},
		labels))
	if len(labels) == 0 {
		vec.WithLabelValues() // present from the start, as 0
	}
	return &Total{vec: vec}
}

func (d definer) gauge(name, help string) prometheus.Gauge {
	return register(d, prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}))
}

func (d definer) gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return register(d, prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help},
		labels))
}

func (d definer) histogram(name, help string, buckets []float64) prometheus.Histogram {
	return register(d, prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: namespace, Name: name, Help: help, Buckets: buckets,
	}))
}

// register registers a metric and returns it.
func register[C prometheus.Collector](d definer, metric C) C {
	d.registry.MustRegister(metric)
	return metric
}
