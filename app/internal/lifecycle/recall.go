// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
)

// recall remembers the handed-out instant changes of t before they are forgotten.
func (k *retention) recall(d *derivation, t *change.Timeline) {
	if !t.Kind().Recalled && !kind.IsSource(t.Ref.Kind) {
		return
	}
	for _, r := range d.placed.Instants(t.Ref.UID) {
		w := r.First()
		if r.Folded || w.Verb != history.Updated || !d.placed.HandedOut(r.Lineage) {
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
		if q := d.trail.Audited(w); q != nil && !q.Unauthenticated {
			i.User = q.User
		}
		t.Remember(i)
	}
}
