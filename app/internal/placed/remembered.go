// SPDX-License-Identifier: Apache-2.0

package placed

import (
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/audit"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// remembered returns stand-ins for the last reconciliation of a folded timeline, and for those beside it that may be
// revised. Later changes are derived from them.
func (c *Changes) remembered(t *change.Timeline) []*change.Reconciliation {
	var out []*change.Reconciliation
	p, parts := t.Past, kind.Everything
	for _, of := range t.Claims() {
		if of.SpanID != p.SpanID && of.RV < p.RV {
			out, parts = append(out, c.standIn(t, of.TraceID, of.SpanID, of.Verb, of.RV, of.Parts)), p.Parts
		}
	}
	last := c.standIn(t, p.TraceID, p.SpanID, p.Verb, p.RV, parts)
	last.Activity = p.Activity
	return append(out, last)
}

// standIn returns a stand-in for a forgotten reconciliation of t, with its first write and its parts.
func (c *Changes) standIn(
	t *change.Timeline, id trace.TraceID, span trace.SpanID, verb history.Verb, rv uint64, parts kind.Part,
) *change.Reconciliation {
	line := c.Lines[id]
	if line == nil {
		line = &change.Lineage{ID: id, Old: true}
		c.Lines[id] = line
	}
	r := &change.Reconciliation{
		Folded: true, Done: true, Timeline: t, Lineage: line, SpanID: span, Verb: verb, Took: parts, Parts: parts,
		Writes: []*change.Write{{Timeline: t, RV: rv, Verb: verb, Part: change.Desired}},
	}
	c.folded = append(c.folded, r)
	return r
}

// Instants returns the instant changes of an object, oldest first. The first ones may be stand-ins
// for forgotten ones.
func (c *Changes) Instants(uid types.UID) []*change.Reconciliation {
	all, known := c.instants[uid]
	if t := c.known.Object(uid); !known && t != nil && t.Recent != nil {
		for i := range t.Recent.List {
			all = append(all, c.recalled(t, &t.Recent.List[i]))
		}
		c.instants[uid] = all
	}
	return all
}

// recalled returns a stand-in for a forgotten instant change.
func (c *Changes) recalled(t *change.Timeline, i *change.Instant) *change.Reconciliation {
	line := c.Lines[i.TraceID]
	if line == nil {
		line = &change.Lineage{ID: i.TraceID, Old: true}
		c.Lines[i.TraceID] = line
	}
	w := &change.Write{
		Timeline: t, RV: i.RV, Verb: history.Updated, Part: change.Desired, Manager: i.Manager,
		Changed: history.Difference{Paths: i.Paths}, At: history.Moment{Lo: i.At, Hi: i.At},
	}
	if i.User != "" {
		w.Audit = &audit.Joined{Write: &observation.Write{User: i.User}}
	}
	return &change.Reconciliation{
		Folded: true, Instant: true, Done: true, Concluded: true, Timeline: t, Lineage: line, SpanID: i.SpanID,
		Verb: history.Updated, Activity: i.At, Writes: []*change.Write{w}, Published: i.Revision,
	}
}
