// SPDX-License-Identifier: Apache-2.0

package lifeline

import (
	"strings"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"
)

// SchemaURL identifies the version of the names and attributes of Lifeline's spans.
const SchemaURL = "https://kube-lifeline.github.io/schemas/1.3.0"

// Annotation keys of the Default convention.
const (
	// ContextKey holds a W3C traceparent:
	// "00-<32 hex trace ID>-<16 hex span ID>-<2 hex flags>".
	ContextKey = "trace.kubernetes.io/context"
	// StateKey holds the W3C tracestate that belongs to ContextKey.
	StateKey = "trace.kubernetes.io/tracestate"
	// BaggageKey holds the W3C baggage that belongs to ContextKey.
	BaggageKey = "trace.kubernetes.io/baggage"
)

// Size limits for reading and writing, in bytes. W3C asks for support of at least 512 bytes of
// tracestate and 8192 bytes of baggage. A JSON map holds one of each, escaped.
const (
	maxParent  = 256
	maxState   = 1024
	maxBaggage = 8192
	maxMap     = 2 * (maxState + maxBaggage)
)

// Convention is a format of a trace context in annotations: the keys, and the encoding of their
// values. The known conventions are variables of this package. The zero value reads and writes
// nothing. Conventions are comparable with ==.
type Convention struct {
	name                    string
	context, state, baggage string
	form                    form
}

// form is the encoding of the value under a convention's first key.
type form uint8

const (
	// w3cText is a traceparent. Tracestate and baggage have separate keys.
	w3cText form = iota
	// jsonMap is a JSON object with traceparent, tracestate and baggage, as a W3C propagator writes
	// it.
	jsonMap
	// jaegerText is "trace:span:parent:flags" in hexadecimal.
	jaegerText
)

// The known conventions.
var (
	// Default is the convention of the Kubernetes proposals, as W3C text. It also reads the base64
	// form of an OpenCensus binary context, which early prototypes wrote under the same key.
	Default = Convention{"default", ContextKey, StateKey, BaggageKey, w3cText}
	// KEP5915 is the convention of Kubernetes enhancement proposal 5915 and of OVN-Kubernetes.
	KEP5915 = Convention{
		"kep-5915",
		"tracing.k8s.io/traceparent",
		"tracing.k8s.io/tracestate",
		"tracing.k8s.io/baggage",
		w3cText,
	}
	// AzureOperatorTrace is the convention of Azure's operatortrace library.
	AzureOperatorTrace = Convention{
		"azure-operatortrace",
		"operatortrace.azure.microsoft.com/traceparent",
		"operatortrace.azure.microsoft.com/tracestate",
		"",
		w3cText,
	}
	// TektonTaskRun is the convention of Tekton's TaskRuns.
	TektonTaskRun = Convention{"tekton-taskrun", "tekton.dev/taskrunSpanContext", "", "", jsonMap}
	// TektonPipelineRun is the convention of Tekton's PipelineRuns.
	TektonPipelineRun = Convention{"tekton-pipelinerun", "tekton.dev/pipelinerunSpanContext", "", "", jsonMap}
	// AgentSandbox is the convention of the Kubernetes agent-sandbox project.
	AgentSandbox = Convention{"agent-sandbox", "opentelemetry.io/trace-context", "", "", jsonMap}
	// W3C uses the plain header names as keys, like Keptn, Kuadrant and HyperShift.
	W3C = Convention{"w3c", "traceparent", "tracestate", "baggage", w3cText}
	// Jaeger uses Jaeger's header name as its key.
	Jaeger = Convention{"jaeger", "uber-trace-id", "", "", jaegerText}
)

// known lists the conventions in reading order: first Lifeline's own and the Kubernetes proposal,
// then those of single projects, the more specific ones first, then the generic keys.
var known = [...]Convention{
	Default,
	KEP5915,
	AzureOperatorTrace,
	TektonTaskRun,
	TektonPipelineRun,
	AgentSandbox,
	W3C,
	Jaeger,
}

// Conventions returns all known conventions, in reading order.
func Conventions() []Convention { return append([]Convention(nil), known[:]...) }

// String returns the convention's name, for example "kep-5915"; "" for the zero
// value.
func (c Convention) String() string { return c.name }

// Owns reports whether key is one of the convention's annotation keys.
func (c Convention) Owns(key string) bool {
	return key != "" && (key == c.context || key == c.state || key == c.baggage)
}

// Encode returns the convention's annotations for sc and b; nil if sc is invalid. A tracestate over
// the limit loses its last, oldest members. A baggage over the limit is left out. The same applies
// to parts that the convention cannot hold.
func (c Convention) Encode(sc trace.SpanContext, b baggage.Baggage) map[string]string {
	if !c.writes(sc) {
		return nil
	}
	m := make(map[string]string, 3)
	c.write(m, sc, b)
	return m
}

// writes reports whether the convention can write sc.
func (c *Convention) writes(sc trace.SpanContext) bool {
	return c.context != "" && sc.IsValid()
}

// write is like Encode, but writes into m. m must not contain keys of the convention.
func (c *Convention) write(m map[string]string, sc trace.SpanContext, b baggage.Baggage) {
	if c.form == jaegerText {
		m[c.context] = formatJaeger(sc)
		return
	}
	state, bag := shorten(sc.TraceState().String()), b.String()
	if len(bag) > maxBaggage {
		bag = ""
	}
	if c.form == jsonMap {
		m[c.context] = formatMap(carried{formatParent(sc), state, bag})
		return
	}
	m[c.context] = formatParent(sc)
	if c.state != "" && state != "" {
		m[c.state] = state
	}
	if c.baggage != "" && bag != "" {
		m[c.baggage] = bag
	}
}

// shorten drops members from the end of a tracestate until it fits.
func shorten(state string) string {
	for len(state) > maxState {
		state = state[:max(strings.LastIndexByte(state, ','), 0)]
	}
	return state
}

// parse parses value, the value of the convention's first key.
func (c *Convention) parse(value string, annotations map[string]string) trace.SpanContext {
	var state string
	var sc trace.SpanContext
	switch c.form {
	case w3cText:
		sc = parseParent(value)
		if !sc.IsValid() && c.context == ContextKey {
			sc = parseBinary(value)
		}
		if c.state != "" {
			state = annotations[c.state]
		}
	case jsonMap:
		m := parseMap(value)
		sc, state = parseParent(m.Parent), m.State
	case jaegerText:
		sc = parseJaeger(value)
	}
	if state == "" || len(state) > maxState || !sc.IsValid() {
		return sc
	}
	ts, err := trace.ParseTraceState(state)
	if err != nil {
		return sc
	}
	return sc.WithTraceState(ts)
}

// bag returns the baggage of the convention in annotations; false if there is none or it is
// invalid.
func (c *Convention) bag(annotations map[string]string) (baggage.Baggage, bool) {
	var text string
	switch {
	case c.form == jsonMap:
		text = parseMap(annotations[c.context]).Baggage
	case c.baggage != "":
		text = annotations[c.baggage]
	}
	if text == "" || len(text) > maxBaggage {
		return baggage.Baggage{}, false
	}
	b, err := baggage.Parse(text)
	return b, err == nil && b.Len() > 0
}
