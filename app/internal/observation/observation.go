// SPDX-License-Identifier: Apache-2.0

// Package observation is the one normal form of everything that is seen of a
// cluster, whatever the source, and its recording format (one JSON object a
// line).
//
// An observation holds only what the engine uses. Container arguments and
// environment, Secret and ConfigMap data and unlisted annotations never enter
// one, and of messages only what package message keeps, so a recording may be
// shared. Sources fill observations; they draw no
// conclusions: what was a cause of what is for package lifecycle to say.
package observation

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// Source says who saw it.
type Source string

// The sources of observations.
const (
	// SourceWatch is a watch or list of the API.
	SourceWatch Source = "watch"
	// SourceRequest is a proxy that the request passed through.
	SourceRequest Source = "request"
	// SourceAudit is the API server's audit log.
	SourceAudit Source = "audit"
	// SourceRun is the command that lifeline itself ran.
	SourceRun Source = "run"
)

// Observation is one thing seen. Exactly one of State, Gone, Write, Event and
// Run is set. An observation is immutable once handed on.
type Observation struct {
	// Seen is when the observer learned of it, by the observer's clock. What
	// was seen happened not later than this, unless clocks differ.
	Seen   time.Time `json:"seen"`
	Source Source    `json:"source"`
	// Listed says that this came from a list, not from a live watch: Seen is
	// then a loose bound.
	Listed bool `json:"listed,omitempty"`
	// Late says that a watch brought it, which was opened after it had been
	// stored: unlike a list, it does not repeat what was seen. Implies Listed.
	Late bool `json:"late,omitempty"`
	// Baseline says that this is how things stood when the observer began:
	// that it is there is no change (rule L7). Implies Listed.
	Baseline bool `json:"baseline,omitempty"`

	State *State `json:"state,omitempty"`
	Gone  *Gone  `json:"gone,omitempty"`
	Write *Write `json:"write,omitempty"`
	Event *Event `json:"event,omitempty"`
	Run   *Run   `json:"run,omitempty"`
}

// Gone says that an object is no longer stored.
type Gone struct {
	object.Ref
	// ResourceVersion is that of the removal; where only a list showed that
	// the object is missing, it is the list's, and Observation.Listed is set.
	ResourceVersion uint64 `json:"resourceVersion"`
}

// Write is one API request that changed something, or tried to, seen whole:
// received to answered.
type Write struct {
	// Ref is the object written. UID is empty if the answer did not tell it
	// (a failed create).
	object.Ref
	// Resource is the plural resource name, such as "deployments".
	Resource    string `json:"resource"`
	Subresource string `json:"subresource,omitempty"`
	// Verb is create, update, patch, apply, delete or deletecollection.
	Verb string `json:"verb"`
	// ResourceVersion and Generation are those of the object as stored by this
	// write; 0 where the answer did not tell (a delete that took effect at
	// once, a binding).
	ResourceVersion uint64 `json:"resourceVersion,omitempty"`
	Generation      int64  `json:"generation,omitempty"`
	// Start is when the request was received, End when it was answered.
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
	// Code is the HTTP status code; Reason and Message are those of a failure.
	Code    int    `json:"code"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// AuditID is the Audit-Id header of the answer. A client may choose it.
	AuditID   string `json:"auditID,omitempty"`
	UserAgent string `json:"userAgent,omitempty"`

	// What follows only the audit log tells.

	// User is whom the API server took the client for; Impersonator is who
	// asked to be taken for that, if somebody did.
	User         string `json:"user,omitempty"`
	Impersonator string `json:"impersonator,omitempty"`
	// Unauthenticated says that the source of the event lets anyone send. Where
	// another source authenticates its senders, User and UserAgent are left out.
	Unauthenticated bool `json:"unauthenticated,omitempty"`
	// Manager is the field manager that the write counts as.
	Manager string `json:"manager,omitempty"`
	// Precondition is the resourceVersion without which the API server would
	// have refused the write; 0 if it asked for none.
	Precondition uint64 `json:"precondition,omitempty"`
	// Removes says that by the answer the object is not stored any more: the
	// ResourceVersion is then left out, as it may be that of the last state.
	Removes bool `json:"removes,omitempty"`
	// Controller is the UID of the controller owner that a refused creation
	// names: its object has no UID.
	Controller types.UID `json:"controller,omitempty"`

	// TraceParent is the W3C context that the request carried to the API
	// server: its span ID names this write's span.
	TraceParent string `json:"traceParent,omitempty"`
	// Server is the W3C context of a span of the API server's own for the request,
	// as admission has seen it, if its trace is another.
	Server string `json:"server,omitempty"`
}

// Failed reports whether the API server refused the write.
func (w *Write) Failed() bool { return w.Code < 200 || w.Code > 299 }

// Run is a command that lifeline ran: the root of what it caused. It is
// observed when it starts (End zero) and again when it has ended.
type Run struct {
	// TraceParent is the W3C context of the run's own root span; Parent is
	// that of the span above it (TRACEPARENT in the environment), or empty.
	TraceParent string `json:"traceParent"`
	Parent      string `json:"parent,omitempty"`
	// Command is what was run, bounded in length, without its environment.
	Command  string    `json:"command"`
	Start    time.Time `json:"start"`
	End      time.Time `json:"end,omitzero"`
	ExitCode int       `json:"exitCode,omitempty"`
}

// Event is a Kubernetes Event, of either API: core/v1 or events.k8s.io/v1.
type Event struct {
	// UID and ResourceVersion are those of the Event object itself; a repeated
	// Event keeps its UID and grows its Count.
	UID             string     `json:"uid"`
	ResourceVersion uint64     `json:"resourceVersion"`
	Regarding       object.Ref `json:"regarding"`
	// FieldPath names a part of Regarding, such as
	// "spec.containers{app}".
	FieldPath string      `json:"fieldPath,omitempty"`
	Related   *object.Ref `json:"related,omitempty"`
	Type      string      `json:"type"`
	Reason    string      `json:"reason"`
	// Note is the message, bounded in length.
	Note      string `json:"note,omitempty"`
	Component string `json:"component,omitempty"`
	Count     int32  `json:"count,omitempty"`
	// First and Last have whole seconds; Time (eventTime) has microseconds and
	// may be zero.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
	Time  time.Time `json:"time,omitzero"`
}
