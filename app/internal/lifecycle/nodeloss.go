// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// placeLoss places a write with which the node lifecycle controller taints a lost Node, and reports
// whether w is one. The first taint begins a change, because it evicts Pods. The others are steps of
// it, also if the loss itself is unknown. A new Node is not lost before it was ready.
func (d *derivation) placeLoss(w *change.Write) bool {
	switch {
	case w.LosesNode():
		if r := d.UnderWay(w); r != nil && r.OpenAt(w, d.opts.Quiet) {
			return false
		}
		d.stir(d.beginInstant(w, d.Cause(w)), w)
		return true
	case w.WhileLost():
		w.Part = change.Bookkeeping
		if r := d.Loss(w); r != nil {
			r.Note(w)
			d.stir(r, w)
		} else {
			d.placeNote(w)
		}
		return true
	}
	return false
}

// endOfLoss ends the loss of a Node with the removal of its taints and the last evicted Pod. The
// deletion of the Node replaces it.
func (d *derivation) endOfLoss(r *change.Reconciliation) (change.Ending, bool) {
	t := r.Timeline
	i, _ := t.Position(r.First().RV)
	for _, v := range t.Versions[i:] {
		switch {
		case !v.Deleting.IsZero():
			return change.Ending{At: history.Arrival(v), Outcome: span.Superseded}, true
		case !judge.Lost(v):
			return d.withEffects(r, d.Stored(t, v))
		}
	}
	if t.Removal != nil {
		return change.Ending{At: d.Gone(t), Outcome: span.Superseded}, true
	}
	return d.endOfPatience(r)
}
