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

	// follows is the trace of the loss that the write makes good, or of the owner; nil without one.
	follows *change.Lineage
	// rescales is the reconciliation found under way that the write shows to be a scaling, or nil.
	rescales *change.Reconciliation
}

// rule finds the cause of a write. Without a cause it may return links to related spans.
type rule func(s *Scene, w *change.Write) (c Cause, found bool, links []span.Link)

// rules are all rules in order, one file a rule. The first cause in this order names the parent.
// The request of a command precedes a context on the object, since the user asked for the trace of
// the command.
var rules = [...]rule{
	byConfig,            // C4, links of a restart: config.go
	byRefusal,           // C4, links of an object refused before: refusal.go
	plain(byRequest),    // C2, of a command: request.go
	plain(byRebuild),    // L7: rebuild.go
	byAnnotation,        // C1: annotation.go
	plain(ByOwnersEnd),  // C3b: ownersend.go
	byEviction,          // C4, of an evicted or preempted Pod: related.go
	byNode,              // C4, of a DaemonSet's Pod: node.go
	plain(byOwner),      // C3: owner.go
	byPlainOwner,        // C3, of an object without a controller: plainowner.go
	byPublication,       // C4, of a new revision: delivery.go
	plain(byItself),     // itself.go
	byAdmission,         // C2, of the audit log: admitted.go
	byDelivery,          // C4, of an applied object: delivery.go
	plain(byLostSecret), // C3, of a Certificate: issuance.go
	byRelation,          // C4, of relations by name, and of the configuration: related.go
	byEvent,             // C5: event.go
}

// These are the rules of the tables of relations.
var (
	byConfig, byRefusal       = byAny(restarted[:]), byAny(refusals[:])
	byEviction, byPlainOwner  = byAny(evictions[:]), byAny(plainOwners[:])
	byPublication, byDelivery = byAny(publications[:]), byAny(deliveries[:])
	byRelation                = byAny(relations[:])
)

// plain converts a function that returns no links into a rule.
func plain(by func(*Scene, *change.Write) (Cause, bool)) rule {
	return func(s *Scene, w *change.Write) (Cause, bool, []span.Link) {
		c, found := by(s, w)
		return c, found, nil
	}
}

// Of applies the rules to a write. A write without a cause begins a trace (rule C6). It changes nothing; Apply
// does.
func Of(s *Scene, w *change.Write) Cause {
	var related []span.Link
	for _, by := range rules {
		c, found, links := by(s, w)
		if found {
			c.Links = append(c.Links, related...)
			return c
		}
		related = append(related, links...)
	}
	c := byNone(s, w)
	c.Links = append(c.Links, related...)
	return c
}
