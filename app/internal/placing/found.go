// SPDX-License-Identifier: Apache-2.0

package placing

import (
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
)

// firsts are the first writes to objects: their creations, and the changes that only a list showed.
type firsts struct {
	born, changed map[*change.Timeline]*change.Write
}

// loosen puts each write that only a list showed before those of dependants that only a list showed. After an outage, a
// list shows the last status of a Deployment, its ReplicaSet and its Pods, the Pods' first. A creation comes before the
// creations of all dependants, including those observed live. The first object of a new kind may be found only after
// its controller has acted.
func (p *Placing) loosen(all []change.Write) {
	loose, changed := false, map[*change.Timeline]*change.Write{}
	for i := range all {
		w := &all[i]
		if !w.Loose() {
			continue
		}
		if loose = true; w.Verb == history.Updated && changed[w.Timeline] == nil {
			changed[w.Timeline] = w
		}
	}
	if !loose {
		return
	}
	first := firsts{births(all), changed}
	for i := range all {
		p.placeOf(&all[i], first)
	}
}

// placeOf returns the place of w in the order of writes (see loosen). It is never 0.
func (p *Placing) placeOf(w *change.Write, first firsts) uint64 {
	if w.Place != 0 || !w.Loose() {
		return max(w.Stored(), 1)
	}
	w.Place = max(w.RV, 1) // ownerReferences may form a cycle
	for _, t := range p.known.Dependants(w.Timeline.Ref.UID) {
		b, changed := first.born[t], first.changed[t]
		switch {
		case w.Previous != nil:
			p.placeBefore(w, b, first)
			p.placeBefore(w, changed, first)
		case b == nil, b.Version.Created.Before(w.Version.Created): // it existed before, and was adopted
		default:
			w.Place = min(w.Place, p.placeOf(b, first))
		}
	}
	return w.Place
}

// placeBefore puts w, an update, before a write to a dependant after the previous version of w. Only a list showed both.
func (p *Placing) placeBefore(w, dependant *change.Write, first firsts) {
	if dependant != nil && dependant.Loose() && dependant.RV > w.Previous.ResourceVersion {
		w.Place = min(w.Place, max(p.placeOf(dependant, first), w.Previous.ResourceVersion+1))
	}
}
