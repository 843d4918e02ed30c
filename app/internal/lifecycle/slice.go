// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
)

// placeSlice places a write to an EndpointSlice that a Service controls. It returns false for a change
// by another author than the endpointslice controller. The creation and the removal belong to the
// change of the Service. All other writes of the controller are steps: Pods cause most of them.
func (d *derivation) placeSlice(w *change.Write) bool {
	if change.ServiceOf(w.Timeline) == nil || w.Request != nil {
		return false
	}
	if w.Reconstructed {
		w.Fate = change.Step
		return true
	}
	switch w.Verb {
	case history.Updated:
		if !w.UpdatesSlice() || !d.MaintainsSlice(w) {
			return false
		}
	case history.Created:
		if !d.MaintainsSlice(w) {
			return false
		}
		if d.BecauseOfService(w) {
			d.beginInstant(w, d.Cause(w))
			return true
		}
	case history.Deleted:
		if w.Version != nil || !d.Merges(w) {
			d.placeDesired(w)
			return true
		}
	case history.Removed:
		return false
	}
	w.Fate = change.Step
	return true
}

// absorbed forgets superseded versions of an EndpointSlice. It returns true if t has no other data and
// no group. Then no derivation has changed, and the new version costs no more than its endpoints.
func (e *Engine) absorbed(t *change.Timeline) bool {
	if e.opts.Rebuild || t.Audits != nil || !kind.EndpointSlice.Is(t.Ref.Kind) {
		return false
	}
	n := t.Absorb()
	e.fates.Step += n
	return n > 0 && e.groups.of[t] == nil && t.Idle(false)
}
