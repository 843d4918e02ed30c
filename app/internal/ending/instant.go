// SPDX-License-Identifier: Apache-2.0

package ending

import (
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// byStorage ends a change that holds as soon as it is stored, with the last effect that it has by a
// relation: a drain lasts until its Pods are gone.
func byStorage(e *Endings, r *change.Reconciliation) (change.Ending, state) {
	if !r.Instant {
		return change.Ending{}, undecided
	}
	at, s := e.afterEffects(r, r.Last().At.ExactlyEnd(r.Last().Request))
	return end(at, span.Converged, s)
}

// byLoss ends the loss of a Node with the removal of its taints and the last evicted Pod. The
// deletion of the Node replaces it.
func byLoss(e *Endings, r *change.Reconciliation) (change.Ending, state) {
	if !r.Instant || !r.Loss() {
		return change.Ending{}, undecided
	}
	t := r.Timeline
	i, _ := t.Position(r.First().RV)
	for _, v := range t.Versions[i:] {
		switch {
		case !v.Deleting.IsZero():
			return end(history.Arrival(v), span.Superseded, ended)
		case !judge.Lost(v):
			at, s := e.afterEffects(r, e.trail.Stored(t, v))
			return end(at, span.Converged, s)
		}
	}
	if t.Removal != nil {
		return end(e.trail.Gone(t), span.Superseded, ended)
	}
	return byPatience(e, r)
}
