// SPDX-License-Identifier: Apache-2.0

// Package span is Lifeline's span and trace: what the engine makes, what is
// drawn and what is sent. It derives IDs and converts to OTLP; it knows nothing
// of how spans come about.
package span

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// Span is one interval of work on one object, by one component.
type Span struct {
	TraceID trace.TraceID
	ID      trace.SpanID
	// Parent is zero for a root; a parent that is no span of the trace is
	// outside (RemoteParent).
	Parent       trace.SpanID
	RemoteParent bool

	// Name has low cardinality: "reconcile Deployment", "pull image".
	Name string
	// Service is the component that did the work: the resource's
	// service.name.
	Service string
	// Object is what the span is about; zero for a run.
	Object object.Ref

	Start Time
	// End is zero while the span is open.
	End Time

	// Outcome is set on spans of reconciliations and runs.
	Outcome Outcome
	// Evidence is how the edge to the parent is known; empty for a root.
	Evidence Evidence

	Status Status
	// Message says why, for an error or an open span: what it waits for.
	Message string

	Attributes []attribute.KeyValue
	Events     []Event
	Links      []Link

	// Origin is set on a span that another component made.
	Origin *Origin
}

// Origin is what a span of another component has that one of Lifeline's has
// not. Spans that came together share one Resource.
type Origin struct {
	// TraceID is the trace in which it was made; Span.TraceID is that of the
	// change once the two are joined.
	TraceID trace.TraceID
	// Parent is the span that it was made under, as Span.Parent was.
	Parent trace.SpanID
	Kind   trace.SpanKind
	// TraceState is the W3C tracestate.
	TraceState string
	Scope      Scope
	Resource   *Resource
}

// Scope names the library that made a span.
type Scope struct{ Name, Version string }

// Resource is who made a span: OpenTelemetry's resource, of which service.name
// is Span.Service as well.
type Resource struct {
	SchemaURL  string
	Attributes []attribute.KeyValue
}

// Open reports whether the span has not ended.
func (s *Span) Open() bool { return s.End.IsZero() }

// Duration is from start to end; for an open span to now.
func (s *Span) Duration(now time.Time) time.Duration {
	if s.Open() {
		return now.Sub(s.Start.Time)
	}
	return s.End.Sub(s.Start.Time)
}

// Time is a moment, and where it is known from.
type Time struct {
	time.Time
	Source TimeSource
}

// TimeSource says how a moment is known (rule T); the value of the attribute
// lifeline.time.source.
type TimeSource string

// The sources of time.
const (
	// TimeRequest: the request was seen; exact.
	TimeRequest TimeSource = "request"
	// TimeOTLP: a span of the component that did the work; exact.
	TimeOTLP TimeSource = "otlp"
	// TimeAudit: the API server's audit log told of the request; exact.
	TimeAudit TimeSource = "audit"
	// TimeAdmission: noted when the request was admitted; exact.
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

// Outcome says how a reconciliation ended; the value of lifeline.outcome.
type Outcome string

// The outcomes.
const (
	Converged  Outcome = "converged"
	Superseded Outcome = "superseded"
	Deleted    Outcome = "deleted"
	Failed     Outcome = "failed"
	Unfinished Outcome = "unfinished"
)

// Evidence says how an edge is known; the value of lifeline.evidence.
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

// Link is a further cause, or the trace that this one follows.
type Link struct {
	TraceID    trace.TraceID
	SpanID     trace.SpanID
	Attributes []attribute.KeyValue
}

// Trace is everything that happened because of one change.
type Trace struct {
	ID trace.TraceID
	// Spans are in the order of a walk over the tree: a parent before its
	// children, siblings by start.
	Spans []*Span
	// Outcome is that of the whole: Failed if anything failed for good,
	// Unfinished while anything is open.
	Outcome Outcome
	// Reason says in one line why a trace failed or what it still waits for.
	Reason string
}

// Root returns the first of Lifeline's spans without a parent in the trace, or
// the topmost where all are below one that another component made; without any of
// Lifeline's, the first span that has no parent. It is nil for an empty trace.
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
