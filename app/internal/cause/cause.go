// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Cause is the place of a write: its trace and its parent there.
type Cause struct {
	// Line is the trace.
	Line *change.Lineage
	// Parent is the reconciliation above the write, or nil.
	Parent *change.Reconciliation
	// Above is the parent span without a Parent: the root of a run, or a context from outside.
	// Remote is set for the latter.
	Above  trace.SpanID
	Remote bool
	// Evidence is the evidence for the parent. Links are further causes, and rejected contexts.
	Evidence span.Evidence
	Links    []span.Link
	// Heals is the lost object replaced by the write, or nil.
	Heals *change.Timeline
	// Span is the ID from admission for the span of the reconciliation. It is zero if the ID must
	// be derived.
	Span trace.SpanID
}

// rule finds the cause of a write. Without a cause it may return links to related spans.
type rule func(f *Finder, w *change.Write) (c Cause, found bool, links []span.Link)

// rules are all rules in order, one file a rule. The first cause in this order names the parent.
// The request of a command precedes a context on the object, since the user asked for the trace of
// the command.
var rules = [...]rule{
	(*Finder).byConfig,           // C4, links of a restart: config.go
	(*Finder).byRefusal,          // C4, links of an object refused before: refusal.go
	plain((*Finder).byRequest),   // C2, of a command: request.go
	plain((*Finder).byRebuild),   // L7: rebuild.go
	(*Finder).byAnnotation,       // C1: annotation.go
	plain((*Finder).ByOwnersEnd), // C3b: ownersend.go
	plain((*Finder).byEviction),  // C4, of an evicted Pod: eviction.go
	(*Finder).byNode,             // C4, of a DaemonSet's Pod: node.go
	plain((*Finder).byOwner),     // C3: owner.go
	(*Finder).byPlainOwner,       // C3, of an object without a controller: plainowner.go
	(*Finder).byPublication,      // C4, of a new revision: delivery.go
	plain((*Finder).byItself),    // itself.go
	(*Finder).byAdmission,        // C2, of the audit log: admitted.go
	plain((*Finder).byRelation),  // C4, of an API: relation.go
	plain((*Finder).byClaim),     // C4, of storage: storage.go
	(*Finder).byAutoscaler,       // C4, of a scaling: autoscaler.go
	(*Finder).byDelivery,         // C4, of an applied object: delivery.go
	(*Finder).byIssuance,         // C4, of a Certificate: issuance.go
	(*Finder).byDeclared,         // C4, of the configuration: declared.go
	(*Finder).byEvent,            // C5: event.go
}

// plain converts a function that returns no links into a rule.
func plain(by func(*Finder, *change.Write) (Cause, bool)) rule {
	return func(f *Finder, w *change.Write) (Cause, bool, []span.Link) {
		c, found := by(f, w)
		return c, found, nil
	}
}

// Cause applies the rules to a write. A write without a cause begins a trace (rule C6).
func (f *Finder) Cause(w *change.Write) Cause {
	var related []span.Link
	for _, by := range rules {
		c, found, links := by(f, w)
		if found {
			c.Links = append(c.Links, related...)
			return c
		}
		related = append(related, links...)
	}
	c := f.byNone(w)
	c.Links = append(c.Links, related...)
	return c
}
