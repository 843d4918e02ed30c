// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/audit"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// Instants returns the instant changes of an object, oldest first. The first ones may be stand-ins
// for forgotten ones.
func (d *derivation) Instants(uid types.UID) []*change.Reconciliation {
	all, known := d.instants[uid]
	if t := d.Object(uid); !known && t != nil && t.Recent != nil {
		for i := range t.Recent.List {
			all = append(all, d.recalled(t, &t.Recent.List[i]))
		}
		d.instants[uid] = all
	}
	return all
}

// instant returns the newest instant change of an object in this derivation, or nil.
func (d *derivation) instant(uid types.UID) *change.Reconciliation {
	all := d.instants[uid]
	if len(all) == 0 || all[len(all)-1].Folded {
		return nil
	}
	return all[len(all)-1]
}

// recalled returns a stand-in for a forgotten instant change.
func (d *derivation) recalled(t *change.Timeline, i *change.Instant) *change.Reconciliation {
	line := d.Lines[i.TraceID]
	if line == nil {
		line = &change.Lineage{ID: i.TraceID, Old: true}
		d.Lines[i.TraceID] = line
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

// recall remembers the handed-out instant changes of t before they are forgotten.
func (d *derivation) recall(t *change.Timeline) {
	if !t.Kind().Recalled && !kind.IsSource(t.Ref.Kind) {
		return
	}
	for _, r := range d.instants[t.Ref.UID] {
		w := r.First()
		if r.Folded || w.Verb != history.Updated || !d.handedOut(r.Lineage) {
			continue
		}
		i := change.Instant{
			TraceID:  r.Lineage.ID,
			SpanID:   r.ID(),
			RV:       w.RV,
			At:       w.At.At().Time,
			Manager:  w.Manager,
			Paths:    r.Edits().Paths(),
			Revision: w.Revision(),
		}
		if q := d.Audited(w); q != nil && !q.Unauthenticated {
			i.User = q.User
		}
		t.Remember(i)
	}
}
