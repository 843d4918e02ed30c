// SPDX-License-Identifier: Apache-2.0

package placed

import (
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/change"
)

// HandedOut reports whether Take has handed out the trace.
func (c *Changes) HandedOut(l *change.Lineage) bool {
	_, taken := c.taken[l.ID]
	return taken || l.Old
}

// Untaken returns the lineages that Take has not handed out, in order.
func (c *Changes) Untaken() []*change.Lineage {
	out := make([]*change.Lineage, 0, len(c.Ordered))
	for _, l := range c.Ordered {
		if !c.HandedOut(l) {
			out = append(out, l)
		}
	}
	return out
}

// Taken returns the remaining data of a trace that was handed out.
func (c *Changes) Taken(id trace.TraceID) (change.Taken, bool) {
	t, known := c.taken[id]
	return t, known
}

// Pending reports whether some writes of r were not handed out with any trace, and whether all its
// stored writes to desired state were not. Of a folded r, one write was handed out.
func (c *Changes) Pending(r *change.Reconciliation) (some, all bool) {
	all = !r.Folded
	for _, w := range r.Writes {
		if c.isUntold(r, w) {
			some = true
		} else if _, stored := w.HandedOut(); stored {
			all = false
		}
	}
	return some || slices.ContainsFunc(r.Notes, pendingNote), all
}

// PendingWrites returns the writes of r that were not handed out with any trace.
func (c *Changes) PendingWrites(r *change.Reconciliation) []*change.Write {
	var out []*change.Write
	for _, w := range r.Writes {
		if c.isUntold(r, w) {
			out = append(out, w)
		}
	}
	for _, w := range r.Notes {
		if pendingNote(w) {
			out = append(out, w)
		}
	}
	return out
}

// isUntold reports whether w, a write of r to desired state, was not handed out with any trace. The
// trace of a command is handed out with all its requests.
func (c *Changes) isUntold(r *change.Reconciliation, w *change.Write) bool {
	handedOut, stored := w.HandedOut()
	return stored && !handedOut && (c.LineOf(w) != r.Lineage || !c.HandedOut(r.Lineage))
}

// pendingNote reports whether w, a note of a reconciliation, was not handed out with any trace. Of
// the notes, only changes of desired state or metadata are handed out late.
func pendingNote(w *change.Write) bool {
	handedOut, stored := w.HandedOut()
	return stored && !handedOut && (w.Part == change.Desired || w.Changed.Metadata())
}

// Elsewhere reports whether all of r was handed out in a trace other than its own.
func (c *Changes) Elsewhere(r *change.Reconciliation) bool {
	if c.HandedOut(r.Lineage) {
		return false
	}
	some, all := c.Pending(r)
	return !some && !all
}

// HandedOutBefore returns a function for the writes of r. It reports whether a write was handed out
// earlier, in another trace or another span.
func (c *Changes) HandedOutBefore(r *change.Reconciliation) func(*change.Write) bool {
	if some, all := c.Pending(r); c.HandedOut(r.Lineage) && !(some && all) {
		return func(*change.Write) bool { return false }
	}
	return func(w *change.Write) bool {
		handedOut, _ := w.HandedOut()
		return handedOut
	}
}

// Late returns the reconciliations with writes that arrived after the handout of their trace.
func (c *Changes) Late() []*change.Reconciliation {
	var out []*change.Reconciliation
	for _, r := range c.folded {
		if some, _ := c.Pending(r); some {
			out = append(out, r)
		}
	}
	for _, l := range c.Ordered {
		if !c.HandedOut(l) {
			continue
		}
		for _, r := range l.Reconciliations {
			if some, _ := c.Pending(r); some {
				out = append(out, r)
			}
		}
	}
	return out
}
