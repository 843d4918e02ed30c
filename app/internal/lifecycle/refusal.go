// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/trail"
)

// forgetRefusals forgets the refusals that were handed out, and the old ones without a trace. It
// reports whether anything changed.
func (k *retention) forgetRefusals(d *derivation, now time.Time) bool {
	of := func(r *trail.Refusal) (traces, out int, alone bool) {
		all := d.refusals.Traces(r)
		for _, l := range all {
			if _, taken := k.memory.taken[l.ID]; taken {
				out++
				alone = alone || l.Vain
			}
		}
		return len(all), out, alone
	}
	anything := false
	for id := range d.group.refusals {
		changed, left := k.trail.ForgetRefusals(id, now.Add(-maxAge), of)
		if !left {
			delete(d.group.refusals, id)
		}
		anything = anything || changed
	}
	return anything
}
