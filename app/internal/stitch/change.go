// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// change is the state of one of our traces: the identities that can join others' spans, and the
// trees with such spans.
type change struct {
	id   trace.TraceID
	root trace.SpanID
	// keys, audits and stays are the identities in the trace. A value of keys is the version that
	// last contained the span.
	keys    map[trace.SpanID]uint32
	audits  map[string]trace.SpanID
	stays   []stay
	version uint32
	print   uint64
	seen    time.Time
	// from is the earliest start of its spans. handed is when Join returned it as finished; zero
	// before. outside reports an outside context above the trace.
	from, handed time.Time
	outside      bool

	// trees are the tops of the trees with a span in the trace.
	trees map[*node]struct{}
	// stale reports a change in the trees since joined was built.
	stale  bool
	joined *span.Trace

	// done reports that the finished trace was returned, with the foreign spans given and the clock
	// corrections clock. After that the trace does not change.
	done  bool
	given []key
	clock corrections
}

// spot is a place in a trace of ours. It is a span of ours, or a foreign span already returned with
// ID id.
type spot struct {
	change *change
	id     trace.SpanID
	given  bool
}

// stay is a Pod's reconciliation. schedule, sandbox and terminate are its phases of these names, if it
// has them.
type stay struct {
	change    *change
	at        trace.SpanID
	schedule  trace.SpanID
	sandbox   period
	terminate trace.SpanID
	pod       string
	named     identity
	start     span.Time
	end       time.Time // zero while open
	deletion  bool
}

// enter adds a tree with a span in the trace, also one that has changed.
func (c *change) enter(top *node) {
	c.trees[top] = struct{}{}
	c.stale = true
}

// leave removes a tree.
func (c *change) leave(top *node) {
	delete(c.trees, top)
	c.stale = true
}

// size returns the number of identities stored for c.
func (c *change) size() int { return len(c.keys) + len(c.audits) + 2*len(c.given) }

// auditsOf returns the audit-ids of our writes in t, from spans and span events. Of several writes
// of one request, it returns the first.
func auditsOf(t *span.Trace) map[string]trace.SpanID {
	audits := map[string]trace.SpanID{}
	note := func(attrs []attribute.KeyValue, at trace.SpanID) {
		if id := text(attrs, span.KeyAuditID); id != "" {
			if _, known := audits[id]; !known {
				audits[id] = at
			}
		}
	}
	for _, own := range t.Spans {
		if own.IsWrite() {
			note(own.Attributes, own.ID)
		}
	}
	for _, own := range t.Spans {
		for i := range own.Events {
			if own.Events[i].Name == span.EventWrite {
				note(own.Events[i].Attributes, own.ID)
			}
		}
	}
	return audits
}

func compareStays(a, b stay) int {
	if c := a.start.Compare(b.start.Time); c != 0 {
		return c
	}
	if c := slices.Compare(a.change.id[:], b.change.id[:]); c != 0 {
		return c
	}
	return slices.Compare(a.at[:], b.at[:])
}

// podNamed is a Pod's identity by name.
func podNamed(namespace, name string) identity { return identity{byName, namespace + "/" + name} }
