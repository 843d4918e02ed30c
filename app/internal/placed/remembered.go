// SPDX-License-Identifier: Apache-2.0

package placed

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/audit"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// remembered returns a stand-in for the last reconciliation of a folded timeline. Later changes are
// derived from it.
func (c *Changes) remembered(t *change.Timeline) *change.Reconciliation {
	p := t.Past
	line := c.Lines[p.TraceID]
	if line == nil {
		line = &change.Lineage{ID: p.TraceID, Old: true}
		c.Lines[p.TraceID] = line
	}
	r := &change.Reconciliation{
		Folded:   true,
		Timeline: t,
		Lineage:  line,
		SpanID:   p.SpanID,
		Verb:     p.Verb,
		Activity: p.Activity,
		Done:     true,
		Writes: []*change.Write{
			{Timeline: t, RV: p.RV, Verb: p.Verb, Part: change.Desired},
		},
		Took:  kind.Everything,
		Parts: kind.Everything,
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
