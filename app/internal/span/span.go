// SPDX-License-Identifier: Apache-2.0

// Package span defines Lifeline's span and trace, derives their IDs and converts them to OTLP.
// Building spans from observations is left to package lifecycle.
package span

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// Span is one interval of work on one object, by one component.
type Span struct {
	TraceID trace.TraceID
	ID      trace.SpanID
	// Parent is zero for a root. A parent that is not in the trace is outside (RemoteParent).
	Parent       trace.SpanID
	RemoteParent bool

	// Name has low cardinality: "reconcile Deployment", "pull image".
	Name string
	// Service is the component that did the work, the resource's service.name.
	Service string
	// Object is the span's object; zero for a run.
	Object object.Ref

	Start Time
	// End is zero while the span is open.
	End Time

	// Outcome is set on spans of reconciliations and runs.
	Outcome Outcome
	// Evidence is the evidence for the parent; empty for a root.
	Evidence Evidence

	Status Status
	// Message is the reason of an error, or of an open span's waiting.
	Message string

	Attributes []attribute.KeyValue
	Events     []Event
	// DroppedEvents is the number of further events.
	DroppedEvents int
	Links         []Link

	// Facts is set on the span of a reconciliation and of a stored write.
	Facts *Facts

	// Origin is set on a span that another component made.
	Origin *Origin
}

// Origin holds the fields that only another component's span has. Spans received together share one
// Resource.
type Origin struct {
	// TraceID is the original trace. After joining, Span.TraceID is the trace of the change.
	TraceID trace.TraceID
	// Parent is the original value of Span.Parent.
	Parent trace.SpanID
	Kind   trace.SpanKind
	// TraceState is the W3C tracestate.
	TraceState string
	Scope      Scope
	Resource   *Resource
}

// Scope is the instrumentation library of a span.
type Scope struct{ Name, Version string }

// Resource is OpenTelemetry's resource. Its service.name is also Span.Service.
type Resource struct {
	SchemaURL  string
	Attributes []attribute.KeyValue
}

// Open reports whether the span has not ended.
func (s *Span) Open() bool { return s.End.IsZero() }

// Stuck reports whether the span waits after an error.
func (s *Span) Stuck() bool { return s.Open() && (s.Status == StatusError || s.Outcome == Failed) }

// Duration returns the time from start to end, or to now for an open span.
func (s *Span) Duration(now time.Time) time.Duration {
	if s.Open() {
		return now.Sub(s.Start.Time)
	}
	return s.End.Sub(s.Start.Time)
}

// Time is a moment and its source.
type Time struct {
	time.Time
	Source TimeSource
}

// TimeSource is the source of a moment (rule T), the value of the attribute lifeline.time.source.
type TimeSource string

// The sources of time.
const (
	// TimeRequest: the request was seen; exact.
	TimeRequest TimeSource = "request"
	// TimeOTLP: a span of the component that did the work; exact.
	TimeOTLP TimeSource = "otlp"
	// TimeAudit: the API server's audit log recorded the request; exact.
	TimeAudit TimeSource = "audit"
	// TimeAdmission: recorded during admission of the request; exact.
	TimeAdmission TimeSource = "admission"
	// TimeEvent: a Kubernetes Event's message gave an exact duration.
	TimeEvent TimeSource = "event"
	// TimeWatch: not later than its arrival over a live watch, usually within
	// milliseconds.
	TimeWatch TimeSource = "watch"
	// TimeObject: a whole-second timestamp inside the object.
	TimeObject TimeSource = "object"
)

// Status is the span's status.
type Status int

// Statuses.
const (
	StatusUnset Status = iota
	StatusError
)

// Outcome is the end of a reconciliation, the value of lifeline.outcome.
type Outcome string

// The outcomes.
const (
	Converged  Outcome = "converged"
	Superseded Outcome = "superseded"
	Deleted    Outcome = "deleted"
	Failed     Outcome = "failed"
	Refused    Outcome = "refused"
	Unfinished Outcome = "unfinished"
)

// Outcomes are all outcomes.
var Outcomes = []Outcome{Converged, Superseded, Deleted, Failed, Refused, Unfinished}

// InVain reports whether the desired state of the change did not come about: it failed, or its request was
// refused.
func (o Outcome) InVain() bool { return o == Failed || o == Refused }

// Evidence is the kind of proof for an edge, the value of lifeline.evidence.
type Evidence string

// The kinds of evidence, strongest first.
const (
	ByAnnotation Evidence = "annotation"
	ByRequest    Evidence = "request"
	ByIdentity   Evidence = "identity"
	ByOwner      Evidence = "owner"
	ByRelation   Evidence = "relation"
	ByEvent      Evidence = "event"
	ByTime       Evidence = "time"
	Unverified   Evidence = "unverified"
)

// Event is a moment on a span.
type Event struct {
	Time       time.Time
	Name       string
	Attributes []attribute.KeyValue
}

// Trace is everything that one change caused.
type Trace struct {
	ID trace.TraceID
	// Spans are in tree order: a parent before its children, siblings by start.
	Spans []*Span
	// Outcome is the outcome of the whole trace. It is Failed after any permanent failure, Unfinished
	// while any span is open, and Refused if nothing else went wrong.
	Outcome Outcome
	// Was is the outcome by the first claims, if later ones have changed it (see Revise).
	Was Outcome
	// Reason is one line: the cause of a failure, or the pending condition.
	Reason string
}

// Stuck reports whether the trace waits after an error, or for something that is not to be expected
// soon.
func (t *Trace) Stuck() bool {
	if root := t.Root(); root != nil && root.Open() {
		for _, kv := range root.Attributes {
			if kv.Key == KeyReason {
				return true
			}
		}
	}
	return slices.ContainsFunc(t.Spans, (*Span).Stuck)
}

// Root returns the first of Lifeline's spans without a parent in the trace. If another component's
// span is above all of them, it returns the topmost of Lifeline's. Without Lifeline's spans, it
// returns the first span without a parent. It returns nil for an empty trace.
func (t *Trace) Root() *Span {
	var first, foreign *Span
	for _, s := range t.Spans {
		top := s.Parent == (trace.SpanID{}) || s.RemoteParent
		switch {
		case s.Origin == nil && top:
			return s
		case s.Origin == nil && first == nil:
			first = s
		case s.Origin != nil && top && foreign == nil:
			foreign = s
		}
	}
	if first != nil && foreign != nil {
		return first
	}
	return foreign
}
