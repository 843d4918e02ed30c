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
	delay = []float64{.05, .1, .25, .5, 1, 2, 3, 5, 10, 30, 60, 300, 1800}
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
		"Things seen of the cluster, by where they were seen. If it stands still while the cluster works, see "+
			"lifeline_source_lag_seconds and the log.", "source")
	m.SourceLag = d.gauges("source_lag_seconds",
		"Seconds since a source was last known to be up to date. Above a minute: the API server does not answer, or "+
			"permissions are missing; see the log.", "source")
	m.ObservationDelay = d.histogram("observation_delay_seconds",
		"Seconds from when something was seen until it was stored. Above a few: the disk is slow or the process is "+
			"short of CPU; see lifeline_store_write_seconds and lifeline_engine_look_seconds.", delay)
	m.WatchRequests = d.total("watch_requests_total",
		"Requests of the watch source to the API server, by resource and verb (list or watch). A steady rise of "+
			"lists: watches break, or resourceVersions expire; see the log.", "resource", "verb")
	m.WatchErrors = d.total("watch_errors_total",
		"Requests of the watch source that failed and are tried again, by resource and kind: unreachable, slow, "+
			"unauthorized, forbidden, missing, gone (what was asked for is too old), busy, server, other. A steady "+
			"rise: the log names the error; for forbidden, lifeline rbac prints the rights.", "resource", "kind")
	m.ClockJumps = d.total("clock_jumps_total",
		"Times that the machine's clock jumped. Any: times of spans near it are wrong; see the machine's time service.")
}

func (d definer) received(m *Metrics) {
	m.SpansReceived = d.total("receiver_spans_total",
		"Spans of other components that were received. If it stands still: the components send nothing, or "+
			"elsewhere; see their tracing configuration.")
	m.ReceiverRequests = d.total("receiver_requests_total",
		"OTLP requests that were taken, by transport (grpc, http/protobuf, http/json).", "transport")
	m.SpansRejected = d.total("receiver_spans_rejected_total",
		"Received spans that nobody could use, by what is wrong with them (id, time); their sender was told. Any: "+
			"the sender or its clock is broken.", "reason")
	m.ReceiverRefused = d.total("receiver_requests_refused_total",
		"OTLP requests that were not taken, by reason. Those that are full or busy come again: the store is slow or "+
			"the process is short of CPU. Others are the sender's fault.", "reason")
	m.SpansCut = d.total("receiver_cut_total",
		"What was left out of received spans because it was too much, by what (attribute, event, link, nesting, "+
			"text); or because only Lifeline says it (reserved); and spans that Lifeline itself had sent (returned): "+
			"a Collector sends to Lifeline what it has from Lifeline; values in URLs and attributes that may be "+
			"secret, such as the command of an exec (command); and text of messages that may quote values (message).",
		"what")
	m.SpansJoined = d.total("joined_spans_total",
		"Received spans that belong to a change, by whether they came in time to be handed out with its trace (with) "+
			"or later (after). Many that come after: the components' clocks or batches are late.", "when")
	m.SpansUnjoined = d.total("unjoined_spans_total",
		"Received spans that belong to no change: polls and reads (noise), what came twice (repeated), Lifeline's "+
			"own (own), sent on as they were (passed), dropped as configured (dropped), "+
			"dropped for want of room (evicted), too many for one trace (surplus), for a trace that was finished "+
			"more than an hour before (overdue), more than an hour away from the trace that they name (untimely). "+
			"Evicted ones: lower the components' sampling rates. Overdue or untimely ones: a sender was away for "+
			"long, its clock is wrong, or somebody forges spans.", "why")
	m.AuditEvents = d.total("audit_events_total",
		"Events of the API server's audit log, by what became of them: a write, or why it was passed over, damaged, "+
			"overlong, a refused request, or a gap (what was not read in time is gone). "+
			"Any damaged one or gap: see the log.", "what")
	m.ImpossibleTimes = d.total("impossible_times_total",
		"Times that are impossible, before 2000 or more than ten minutes from now, and were replaced, by source: "+
			"watch (times in Events and statuses) or audit (events of the audit log). "+
			"Any: a clock is wrong, or somebody forges times.", "source")
	m.SpansBuffered = d.gauge("joining_spans",
		"Received spans that are held until their change is finished, or none is found.")
	m.SpansBufferBytes = d.gauge("joining_bytes",
		"About how many bytes those take.")
	m.CopiesBytes = d.gauge("joining_copies_bytes",
		"Bytes in the store of copies of spans that wait for their change, so that they outlive the process. At 16 "+
			"MiB: older ones give way.")
	m.SpansUncopied = d.total("joining_uncopied_spans_total",
		"Spans whose copies gave way to newer ones while they still waited: a process that is killed then loses "+
			"them. Any: lower the components' sampling rates, or joining.window.")
}

func (d definer) admitted(m *Metrics) {
	m.AdmissionReviews = d.total("admission_reviews_total",
		"Calls of the API server that were answered. If it stands still while the cluster works: the webhook is not "+
			"installed, or not reached; see lifeline doctor.")
	m.AdmissionContexts = d.total("admission_contexts_total",
		"Contexts that objects were given at admission, by how it is known what they follow from: the context of the "+
			"request (request), the open reconciliation of the owner (owner), or nothing (none), with which a trace "+
			"begins.", "evidence")
	m.AdmissionRefused = d.total("admission_refused_contexts_total",
		"Contexts that were replaced because their writer may not supply one, as webhook.suppliers says. Any: the "+
			"log says whose.")
	m.AdmissionMalformed = d.total("admission_malformed_total",
		"Requests to the webhook that were no admission reviews. Any: somebody else than the API server reaches it.")
	m.AdmissionBusy = d.total("admission_busy_total",
		"Calls that were not answered because there were too many connections, or large reviews, at a time; those "+
			"writes went on without. Any: the process is short of CPU, or somebody else than the API server "+
			"reaches it.")
	m.AdmissionFailed = d.total("admission_failed_total",
		"Calls that met a bug of Lifeline; those writes went on without. Any: please report it with the stack from "+
			"the log.")
	m.AdmissionSeconds = d.histogram("admission_seconds",
		"Seconds from when a call's header had come until it was answered. Above 0.1: the process is short of CPU, "+
			"and every write waits for it, a second at most.", brief)
}

func (d definer) made(m *Metrics) {
	m.ConvergenceToStored = d.histogram("convergence_to_stored_seconds",
		"Seconds from the end of a trace's last span until the finished trace could be read from the store; "+
			"engine.settle is part of it. Much above that: see lifeline_observation_delay_seconds.", delay)
	m.OpenTraces = d.gauge("open_traces",
		"Traces of which more is expected. A steady rise: changes do not converge, which engine.patience ends; list "+
			"them with lifeline ls --open.")
	m.TracesFinished = d.total("traces_finished_total",
		"Traces that have ended, by outcome. A rising share of failed ones is the cluster's news, not Lifeline's.",
		"outcome")
	m.SpansMade = d.total("spans_made_total",
		"Spans of finished traces, amendments included, before sampling.")
	m.TracesSampledOut = d.total("traces_sampled_out_total",
		"Finished traces that were not kept, as sampling says. Too many: raise sampling.ratePerMillion.")
	m.EngineLook = d.histogram("engine_look_seconds",
		"Seconds that the engine takes in each tick to say what has changed. Above 0.5: more is open than the engine "+
			"can follow; exclude kinds with watch.exclude, or use shards.", work)
	m.EngineObjects = d.gauge("engine_objects",
		"Objects that the engine remembers. It follows the number of objects in the cluster, and memory follows it; "+
			"exclude kinds with watch.exclude, or use shards.")
}

func (d definer) sent(m *Metrics) {
	m.SpansExported = d.total("spans_exported_total",
		"Spans that the OTLP backend has accepted.")
	m.SpansDropped = d.total("spans_dropped_total",
		"Spans given up before the backend has taken them, by reason. Any: the backend was away for longer than "+
			"otlp.outbox.maxAge or maxSpans allow.", "reason")
	m.SpansRefused = d.total("spans_refused_total",
		"Spans that the OTLP backend has refused for good. Any: the log has its reason.")
	m.OutboxSpans = d.gauge("outbox_spans",
		"Spans that wait to be sent. A steady rise: the backend is down or too slow.")
	m.OutboxOldest = d.gauge("outbox_oldest_seconds",
		"Age in seconds of the oldest span that waits to be sent; 0 if none does. Near otlp.outbox.maxAge: spans "+
			"will be dropped; see that the backend answers.")
	m.DeliveredRatio = d.gauge("export_delivered_ratio",
		"Share of the spans meant for the OTLP backend that it has: delivered / (delivered + dropped + refused + "+
			"waiting), from 0 to 1. Below 0.999 for long: see lifeline_outbox_spans, lifeline_spans_dropped_total "+
			"and lifeline_spans_refused_total.")
}

func (d definer) kept(m *Metrics) {
	m.StoreBytes = d.gauge("store_bytes",
		"Bytes that the store takes on disk. Above retention.size for long: pruning does not keep up; see the log.")
	m.StoreTraces = d.gauge("store_traces",
		"Traces in the store, open ones included. Retention bounds them.")
	m.StoreErrors = d.total("store_errors_total",
		"Writes to the store that failed and are tried again; nothing is lost, and nothing new is read meanwhile. "+
			"Any: see the log; as a rule the disk is full.")
	m.StoresLost = d.total("stores_lost_total",
		"Times that the store was deleted, overwritten or found damaged while the server ran; a new one began with "+
			"the open traces. Any: the log says what was found and where it is now.")
	m.StoreWrite = d.histogram("store_write_seconds",
		"Seconds that one batch takes to be stored. Above 0.5: the disk is slow.", work)
	m.JournalBytes = d.gauge("journal_bytes",
		"Bytes of observations that a restart would replay. It falls back whenever the engine's state is saved; a "+
			"steady rise: saving fails, see the log.")
}

func (d definer) working(m *Metrics) {
	m.APIRequests = d.total("api_requests_total",
		"Answers of the HTTP API, by the path's pattern and the status. Codes of 500 and above: see the log; 503: "+
			"more clients than api.maxStreams allows.", "path", "code")
	m.APIStreams = d.gauge("api_streams",
		"Clients that watch now. At api.maxStreams: further ones are turned away.")
	m.APIStreamsCut = d.total("api_streams_cut_total",
		"Watching clients that were cut off because they did not read.")
	m.APIPanics = d.total("api_panics_total",
		"Requests that met a bug of Lifeline and got status 500. Any: please report it with the stack from the log.")
	m.ConfigReloads = d.total("config_reloads_total",
		"Times that the configuration file was read again, by result (taken, refused). Any refused: the log says "+
			"why; the old configuration stays.", "result")
	m.Leader = d.gauge("leader",
		"1 if this replica sends spans, 0 if it stands by, or has lost touch with the others. The sum over replicas "+
			"in mode standby is 1, and 0 for a moment when it changes hands.")
	m.ShardMembers = d.gauge("shard_members",
		"Replicas that share the namespaces in mode shards, as this one sees it; 0 in other modes. Replicas that "+
			"differ for long: see their leases.")
	m.ShardEpoch = d.gauge("shard_epoch",
		"Number of the sharing of namespaces that this replica works by; it rises when members come or go. A steady "+
			"rise: members flap, see their logs.")
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
