// SPDX-License-Identifier: Apache-2.0

package ending

import "github.com/kube-lifeline/lifeline/app/internal/change"

// revising are the rules about a stand-in for a forgotten reconciliation. Rules about time, parents and other writes
// do not apply: it has ended already.
var revising []rule

func init() { revising = []rule{byDeletion, byConvergence, byFailure} }

// Revise returns the end of a handed-out reconciliation by all versions up to now, and whether they show one.
func (e *Endings) Revise(r *change.Reconciliation) (change.Ending, bool) {
	if !r.Folded {
		e.Conclude(r)
		return r.Ended, r.Done
	}
	for _, by := range revising {
		if end, s := by(e, r); s != undecided {
			return end, s == ended
		}
	}
	return change.Ending{}, false
}
