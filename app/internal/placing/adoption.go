// SPDX-License-Identifier: Apache-2.0

package placing

import (
	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
)

// adopt puts the creation of an object before those of the objects that its author created for it
// (cause.Adopting), and that of a mirror Pod before the deletion of the Pod that it replaces.
func (p *Placing) adopt(all []change.Write) {
	var born map[*change.Timeline]*change.Write
	for i := range all {
		w := &all[i]
		if w.Loose() || w.Reconstructed {
			continue
		}
		t, replaced := cause.Adopting(p.scene, w), false
		if t == nil {
			t = cause.Replacing(p.scene, w)
			replaced = t != nil
		}
		if t == nil {
			continue
		}
		if born == nil {
			born = births(all)
		}
		up, place := born[t], w.Stored()
		if replaced {
			place-- // both have the same owner
		}
		if up != nil && !up.Loose() && (replaced || cause.OneAuthor(p.scene, up, w)) && w.Stored() < up.Stored() {
			up.Place = max(place, 1)
		}
	}
}

// births returns the creation of each object.
func births(all []change.Write) map[*change.Timeline]*change.Write {
	born := map[*change.Timeline]*change.Write{}
	for i := range all {
		if w := &all[i]; w.Verb == history.Created {
			born[w.Timeline] = w
		}
	}
	return born
}
