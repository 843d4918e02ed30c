// SPDX-License-Identifier: Apache-2.0

// Package notice tells other programs about changes that have failed or are stuck: which notices are
// due, their form as CloudEvents, their delivery to a webhook, and the counts for metrics.
package notice

import (
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Type is the type of a notice, and of its CloudEvent.
type Type string

// The types of notices.
const (
	// Failed means that a change has ended as failed, or as unfinished with a reason.
	Failed Type = "dev.lifeline.change.failed"
	// Stuck means that an open change has had one reason for longer than configured.
	Stuck Type = "dev.lifeline.change.stuck"
	// Resolved means that a change with a notice of type Stuck continues, or has ended otherwise than as
	// failed.
	Resolved Type = "dev.lifeline.change.resolved"
)

// Types returns all types.
func Types() []Type { return []Type{Failed, Stuck, Resolved} }

// Notice is one notice about a change. Its JSON form is the data of the CloudEvent.
type Notice struct {
	// ID is the same after a repetition.
	ID   string    `json:"-"`
	Type Type      `json:"-"`
	Time time.Time `json:"-"`
	// TraceID and SpanID are those of the change's root.
	TraceID string `json:"traceId"`
	SpanID  string `json:"spanId,omitempty"`
	// Object is the changed object. It is nil for a command, which has Command.
	Object  *object.Ref  `json:"object,omitempty"`
	Command string       `json:"command,omitempty"`
	Outcome span.Outcome `json:"outcome,omitempty"`
	// Reason is the reason in a sentence, and Category its category. Since is the time of the first
	// version with it, Blamed the object to blame, and Next a command that shows more.
	Reason   string     `json:"reason,omitempty"`
	Category string     `json:"category,omitempty"`
	Since    *time.Time `json:"since,omitempty"`
	Blamed   string     `json:"blamed,omitempty"`
	Next     string     `json:"next,omitempty"`
	// Start is that of the change. Actor, User and Edits are its author and what it changed.
	Start time.Time `json:"start"`
	Actor string    `json:"actor,omitempty"`
	User  string    `json:"user,omitempty"`
	Edits []string  `json:"edits,omitempty"`
}

// about returns a notice about t at the time now.
func about(typ Type, t *span.Trace, now time.Time) Notice {
	sum := store.Summarize(t, now)
	n := Notice{
		Type: typ, Time: now.UTC(), TraceID: t.ID.String(), Outcome: sum.Outcome, Command: sum.Command,
		Reason: sum.Reason, Category: sum.Category, Start: sum.Start.UTC(), Actor: sum.Actor, User: sum.User,
		Edits: sum.Edits,
	}
	if sum.Object.Name != "" {
		n.Object = &sum.Object
	}
	if root := t.Root(); root != nil {
		n.SpanID = root.ID.String()
		n.Blamed, n.Next = insight.Attribute(root, span.KeyReasonObject), insight.Attribute(root, span.KeyReasonNext)
		if since := since(root); !since.IsZero() {
			n.Since = &since
		}
	}
	n.ID = n.TraceID + "/" + string(typ[len("dev.lifeline.change."):])
	if typ == Stuck {
		n.ID += "/" + n.Category
		if n.Since != nil { // the same reason may come again
			n.ID += "@" + n.Since.Format(time.RFC3339)
		}
	}
	return n
}

// since returns the time of the first version with the reason of a root, or zero.
func since(root *span.Span) time.Time {
	at, err := time.Parse(time.RFC3339Nano, insight.Attribute(root, span.KeyReasonSince))
	if err != nil {
		return time.Time{}
	}
	return at.UTC()
}

// category returns the category of an open change's reason, or "".
func category(t *span.Trace) string {
	root := t.Root()
	if root == nil {
		return ""
	}
	return insight.Attribute(root, span.KeyReason)
}

// failed reports whether a finished change has failed.
func failed(t *span.Trace) bool {
	return t.Outcome == span.Failed || t.Outcome == span.Unfinished && category(t) != ""
}
