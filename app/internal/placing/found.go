// SPDX-License-Identifier: Apache-2.0

package placing

import (
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
)

// loosen puts each write that only a list showed before the creations of dependants that only a
// list showed. After an outage, a list shows the last status of a Deployment, its ReplicaSet and
// its Pods, the Pods' first. A creation comes before the creations of all dependants, including
// those observed live. The first object of a new kind may be found only after its controller has
// acted.
func (p *Placing) loosen(all []change.Write) {
	loose := false
	for i := range all {
		loose = loose || all[i].Verb == history.Created && all[i].Loose()
	}
	if !loose {
		return
	}
	born := births(all)
	for i := range all {
		p.placeOf(&all[i], born)
	}
}

// placeOf returns the place of w in the order of writes (see loosen). It is never 0.
func (p *Placing) placeOf(w *change.Write, born map[*change.Timeline]*change.Write) uint64 {
	if w.Place != 0 || !w.Loose() {
		return max(w.Stored(), 1)
	}
	w.Place = max(w.RV, 1) // ownerReferences may form a cycle
	for _, t := range p.known.Dependants(w.Timeline.Ref.UID) {
		b := born[t]
		switch {
		case b == nil:
		case w.Previous == nil && b.Version.Created.Before(w.Version.Created):
			// The dependant existed before, and was adopted.
		case w.Previous == nil:
			w.Place = min(w.Place, p.placeOf(b, born))
		case !b.Loose():
		case b.RV > w.Previous.ResourceVersion:
			w.Place = min(w.Place, max(p.placeOf(b, born), w.Previous.ResourceVersion+1))
		}
	}
	return w.Place
}
