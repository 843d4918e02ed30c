// SPDX-License-Identifier: Apache-2.0

package lifeline

import (
	"strings"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"
)

// SchemaURL names the version of the names and attributes of Lifeline's spans.
const SchemaURL = "https://kube-lifeline.github.io/schemas/1.0.0"

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

// Bounds of what is read and written, in bytes. W3C asks everybody to carry 512
// of a tracestate and 8192 of a baggage. A map holds one of each, escaped.
const (
	maxParent  = 256
	maxState   = 1024
	maxBaggage = 8192
	maxMap     = 2 * (maxState + maxBaggage)
)

// Convention is a way to write a trace context into annotations: which keys,
// and in which form. The ones that are known are variables of this package; the
// zero value reads and writes nothing. Conventions can be compared with ==.
type Convention struct {
	name                    string
	context, state, baggage string
	form                    form
}

// form is how the value of a convention's first key is written.
type form uint8

const (
	// w3cText is a traceparent; tracestate and baggage have keys of their own.
	w3cText form = iota
	// jsonMap is a JSON object of the three, as a W3C propagator fills it.
	jsonMap
	// jaegerText is "trace:span:parent:flags" in hexadecimal.
	jaegerText
)

// The conventions that are known.
var (
	// Default is that of the Kubernetes proposals, as W3C text. The base64
	// form of an OpenCensus binary context, which early prototypes wrote under
	// the same key, is read as well.
	Default = Convention{"default", ContextKey, StateKey, BaggageKey, w3cText}
	// KEP5915 is that of Kubernetes enhancement 5915 and of OVN-Kubernetes.
	KEP5915 = Convention{
		"kep-5915",
		"tracing.k8s.io/traceparent",
		"tracing.k8s.io/tracestate",
		"tracing.k8s.io/baggage",
		w3cText,
	}
	// AzureOperatorTrace is that of Azure's operatortrace library.
	AzureOperatorTrace = Convention{
		"azure-operatortrace",
		"operatortrace.azure.microsoft.com/traceparent",
		"operatortrace.azure.microsoft.com/tracestate",
		"",
		w3cText,
	}
	// TektonTaskRun is that of Tekton's TaskRuns.
	TektonTaskRun = Convention{"tekton-taskrun", "tekton.dev/taskrunSpanContext", "", "", jsonMap}
	// TektonPipelineRun is that of Tekton's PipelineRuns.
	TektonPipelineRun = Convention{"tekton-pipelinerun", "tekton.dev/pipelinerunSpanContext", "", "", jsonMap}
	// AgentSandbox is that of the Kubernetes agent-sandbox project.
	AgentSandbox = Convention{"agent-sandbox", "opentelemetry.io/trace-context", "", "", jsonMap}
	// W3C is the bare header names as keys, as Keptn, Kuadrant and HyperShift
	// write them.
	W3C = Convention{"w3c", "traceparent", "tracestate", "baggage", w3cText}
	// Jaeger is Jaeger's own header name as key.
	Jaeger = Convention{"jaeger", "uber-trace-id", "", "", jaegerText}
)

// known is the order of reading: ours and the standard's first, then those that
// one project writes for its own kinds, the narrower before the wider, then the
// keys that anything may have left.
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

// Conventions returns all conventions that are known, in the order in which
// they are read.
func Conventions() []Convention { return append([]Convention(nil), known[:]...) }

// String returns the convention's name, for example "kep-5915"; "" for the zero
// value.
func (c Convention) String() string { return c.name }

// Owns reports whether the convention writes to this annotation key.
func (c Convention) Owns(key string) bool {
	return key != "" && (key == c.context || key == c.state || key == c.baggage)
}

// Encode returns the annotations that carry sc and b by the convention; nil if
// sc is invalid. A tracestate that is too long loses its last members, which
// are the oldest. A baggage that is too long is left out, as is what the
// convention has no place for.
func (c Convention) Encode(sc trace.SpanContext, b baggage.Baggage) map[string]string {
	if !c.writes(sc) {
		return nil
	}
	m := make(map[string]string, 3)
	c.write(m, sc, b)
	return m
}

// writes reports whether there is anything to write.
func (c *Convention) writes(sc trace.SpanContext) bool {
	return c.context != "" && sc.IsValid()
}

// write is Encode into a map in which nothing stands by this convention.
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

// parse reads the value of the convention's first key.
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

// bag reads the baggage beside a context; false if there is none worth having.
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
