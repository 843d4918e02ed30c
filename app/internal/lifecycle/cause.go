// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// cause is where a write belongs: its trace and its parent there.
type cause struct {
	line     *lineage
	parent   *reconciliation
	above    trace.SpanID
	remote   bool
	evidence span.Evidence
	links    []span.Link
	heals    *timeline
	// span is the ID that the reconciliation's span has been given already; zeros
	// if it is to be derived.
	span trace.SpanID
}

// rule finds the cause of a write. If it finds none, it may return links to what the write is related
// to.
type rule func(d *derivation, w *write) (c cause, found bool, links []span.Link)

// rules are the rules in their order, each in the file of its name. The first that finds a cause names
// the parent. The request of a command comes before a context on the object: the user asked for that
// trace.
var rules = [...]rule{
	plain((*derivation).byRequest),   // C2, of a command: request.go
	plain((*derivation).byRebuild),   // L7: rebuild.go
	(*derivation).byAnnotation,       // C1: annotation.go
	plain((*derivation).byOwnersEnd), // C3b: ownersend.go
	plain((*derivation).byOwner),     // C3: owner.go
	plain((*derivation).byItself),    // itself.go
	(*derivation).byAdmission,        // C2, of the audit log: admitted.go
	plain((*derivation).byRelation),  // C4: relation.go
}

// plain makes a rule of a function that returns no links without a cause.
func plain(by func(*derivation, *write) (cause, bool)) rule {
	return func(d *derivation, w *write) (cause, bool, []span.Link) {
		c, found := by(d, w)
		return c, found, nil
	}
}

// cause applies the rules to a write. Without a cause it begins a trace (C6).
func (d *derivation) cause(w *write) cause {
	var related []span.Link
	for _, by := range rules {
		c, found, links := by(d, w)
		if found {
			c.links = append(c.links, related...)
			return c
		}
		related = append(related, links...)
	}
	c := d.byNone(w)
	c.links = append(c.links, related...)
	return c
}
