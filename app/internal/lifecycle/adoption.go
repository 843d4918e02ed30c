// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
)

// adopt puts the creation of an object before those of the objects that its author created for it
// (cause.Finder.Adopting).
func (d *derivation) adopt(all []change.Write) {
	var born map[*change.Timeline]*change.Write
	for i := range all {
		w := &all[i]
		if w.Verb != history.Created || w.Loose() || w.Reconstructed {
			continue
		}
		t := d.Adopting(w)
		if t == nil {
			continue
		}
		if born == nil {
			born = births(all)
		}
		if up := born[t]; up != nil && !up.Loose() && up.Manager == w.Manager && w.Stored() < up.Stored() {
			up.Place = max(w.Stored(), 1)
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
