// SPDX-License-Identifier: Apache-2.0

package placing

import (
	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
)

// placeSlice places a write to an EndpointSlice that a Service controls. It returns false for a change
// by another author than the endpointslice controller. The creation and the removal belong to the
// change of the Service. All other writes of the controller are steps: Pods cause most of them.
func (p *Placing) placeSlice(w *change.Write) bool {
	if change.ServiceOf(w.Timeline) == nil || w.Request != nil {
		return false
	}
	if w.Reconstructed {
		w.Fate = change.Step
		return true
	}
	switch w.Verb {
	case history.Updated:
		if !w.UpdatesSlice() || !cause.MaintainsSlice(p.scene, w) {
			return false
		}
	case history.Created:
		if !cause.MaintainsSlice(p.scene, w) {
			return false
		}
		if cause.BecauseOfService(p.scene, w) {
			p.beginInstant(w, p.cause(w))
			return true
		}
	case history.Deleted:
		if w.Version != nil || !cause.Merges(p.scene, w) {
			p.placeDesired(w)
			return true
		}
	case history.Removed:
		return false
	}
	w.Fate = change.Step
	return true
}
