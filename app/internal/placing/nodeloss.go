// SPDX-License-Identifier: Apache-2.0

package placing

import (
	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/change"
)

// placeLoss places a write with which the node lifecycle controller taints a lost Node, and reports
// whether w is one. The first taint begins a change, because it evicts Pods. The others are steps of
// it, also if the loss itself is unknown. A new Node is not lost before it was ready.
func (p *Placing) placeLoss(w *change.Write) bool {
	switch {
	case w.LosesNode():
		if r := p.placed.UnderWay(w); r != nil && r.OpenAt(w, p.opts.Quiet) {
			return false
		}
		p.stir(p.beginInstant(w, p.cause(w)), w)
		return true
	case w.WhileLost():
		w.Part = change.Bookkeeping
		if r := cause.Loss(p.scene, w); r != nil {
			r.Note(w)
			p.stir(r, w)
		} else {
			p.placeNote(w)
		}
		return true
	}
	return false
}
