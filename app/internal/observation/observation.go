// SPDX-License-Identifier: Apache-2.0

// Package observation is the normal form of all observations of a cluster, from any source, and its
// recording format (one JSON object per line).
//
// An observation holds only the data that the engine uses. It never holds container arguments and
// environment, Secret and ConfigMap data, or annotations outside the allow-list. Messages are
// reduced by package message. A recording may therefore be shared. Sources fill observations
// without conclusions; package lifecycle derives causes.
package observation

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// Source is the origin of an observation.
type Source string

// The sources of observations.
const (
	// SourceWatch is a watch or list of the API.
	SourceWatch Source = "watch"
	// SourceRequest is a proxy that the request passed through.
	SourceRequest Source = "request"
	// SourceAudit is the API server's audit log.
	SourceAudit Source = "audit"
	// SourceRun is the command that lifeline ran.
	SourceRun Source = "run"
)

// Observation is one observed fact. Exactly one of State, Gone, Write, Event and Run is set. A
// receiver must not modify it.
type Observation struct {
	// Later completes the messages once the values of other objects are known; nil means that they are complete.
	// It is for the source alone.
	Later func() `json:"-"`
	// Seen is the time of the observation, by the observer's clock. The observed fact happened not
	// later, unless clocks differ.
	Seen   time.Time `json:"seen"`
	Source Source    `json:"source"`
	// Listed means that this came from a list, not from a live watch. Seen is then a loose bound.
	Listed bool `json:"listed,omitempty"`
	// Late means that a watch delivered this, and that it was stored before the watch was opened.
	// Unlike a list, the watch does not repeat earlier observations. Implies Listed.
	Late bool `json:"late,omitempty"`
	// Baseline marks the state at the observer's start. Its existence is not a change (rule L7).
	// Implies Listed.
	Baseline bool `json:"baseline,omitempty"`

	State *State `json:"state,omitempty"`
	Gone  *Gone  `json:"gone,omitempty"`
	Write *Write `json:"write,omitempty"`
	Event *Event `json:"event,omitempty"`
	Run   *Run   `json:"run,omitempty"`
}

// Gone is the removal of an object from storage.
type Gone struct {
	object.Ref
	// ResourceVersion is that of the removal. If only a list showed that the object is missing, it
	// is the list's, and Observation.Listed is set.
	ResourceVersion uint64 `json:"resourceVersion"`
	// Order is as in State.
	Order uint64 `json:"order,omitempty"`
}

// Write is one API request with a change or the attempt of one, from reception to response.
type Write struct {
	// Ref is the written object. UID is empty if the response lacked it (a failed create).
	object.Ref
	// Resource is the plural resource name, such as "deployments".
	Resource    string `json:"resource"`
	Subresource string `json:"subresource,omitempty"`
	// Verb is create, update, patch, apply, delete or deletecollection.
	Verb string `json:"verb"`
	// ResourceVersion and Generation are those of the object as stored by this write. They are 0 if
	// the response lacked them (an immediate delete, a binding).
	ResourceVersion uint64 `json:"resourceVersion,omitempty"`
	Generation      int64  `json:"generation,omitempty"`
	// Start is the time of the request, End that of the response.
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
	// Code is the HTTP status code; Reason and Message are those of a failure.
	Code    int    `json:"code"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Kept and Masked are as in State.
	Kept   bool `json:"kept,omitempty"`
	Masked bool `json:"masked,omitempty"`
	// AuditID is the Audit-Id header of the response. A client may choose it.
	AuditID   string `json:"auditID,omitempty"`
	UserAgent string `json:"userAgent,omitempty"`

	// Only the audit log has the following fields.

	// User is the user of the request, by the API server. Impersonator is the user who impersonated
	// them, if any.
	User         string `json:"user,omitempty"`
	Impersonator string `json:"impersonator,omitempty"`
	// Unauthenticated means that the event's source accepts any sender. Where another source
	// authenticates its senders, User and UserAgent are omitted.
	Unauthenticated bool `json:"unauthenticated,omitempty"`
	// Manager is the field manager of the write.
	Manager string `json:"manager,omitempty"`
	// Precondition is the resourceVersion that the write required; 0 means none.
	Precondition uint64 `json:"precondition,omitempty"`
	// Removes means that the response shows the object as removed. The ResourceVersion is then
	// omitted, because it may be that of the last state.
	Removes bool `json:"removes,omitempty"`
	// Unlisted means that the request ended before the observer had listed all kinds for the first time. So
	// the first list may show its result as the state at the start.
	Unlisted bool `json:"unlisted,omitempty"`
	// Controller is the UID of the controller owner in a refused creation, whose object has no UID.
	Controller types.UID `json:"controller,omitempty"`

	// Mutators are the configurations of webhooks that may have changed an image of a new Pod, at most four.
	Mutators []string `json:"mutators,omitempty"`

	// TraceParent is the W3C context of the request. Its span ID is that of this write's span.
	TraceParent string `json:"traceParent,omitempty"`
	// Server is the W3C context of the API server's own span for the request, as seen at admission,
	// if it is in another trace.
	Server string `json:"server,omitempty"`
}

// Failed reports whether the API server refused the write.
func (w *Write) Failed() bool { return w.Code < 200 || w.Code > 299 }

// Run is a command that lifeline ran, the root of its effects. It is observed at its start (End
// zero) and again after its end.
type Run struct {
	// TraceParent is the W3C context of the run's root span. Parent is that of the span above it
	// (TRACEPARENT in the environment), or empty.
	TraceParent string `json:"traceParent"`
	Parent      string `json:"parent,omitempty"`
	// Command is the command line, bounded in length, without its environment.
	Command  string    `json:"command"`
	Start    time.Time `json:"start"`
	End      time.Time `json:"end,omitzero"`
	ExitCode int       `json:"exitCode,omitempty"`
}

// Event is a Kubernetes Event, of either API: core/v1 or events.k8s.io/v1.
type Event struct {
	// UID and ResourceVersion are those of the Event object. A repeated Event keeps its UID and
	// increases its Count.
	UID             string `json:"uid"`
	ResourceVersion uint64 `json:"resourceVersion"`
	// Order is as in State. Large clusters keep Events in a separate storage.
	Order     uint64     `json:"order,omitempty"`
	Regarding object.Ref `json:"regarding"`
	// FieldPath is a part of Regarding, such as "spec.containers{app}".
	FieldPath string      `json:"fieldPath,omitempty"`
	Related   *object.Ref `json:"related,omitempty"`
	Type      string      `json:"type"`
	Reason    string      `json:"reason"`
	// Note is the message, bounded in length.
	Note string `json:"note,omitempty"`
	// Kept and Masked are as in State.
	Kept      bool   `json:"kept,omitempty"`
	Masked    bool   `json:"masked,omitempty"`
	Component string `json:"component,omitempty"`
	// Manager is the field manager of an Event with Related.
	Manager string `json:"manager,omitempty"`
	Count   int32  `json:"count,omitempty"`
	// First and Last have whole seconds; Time (eventTime) has microseconds and
	// may be zero.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
	Time  time.Time `json:"time,omitzero"`
}
