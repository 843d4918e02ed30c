// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/change"
)

// maxLooks is the maximum number of different statuses that are kept per reconciliation.
const maxLooks = 256

// progresses reports whether w is progress for r. A repeated status is not progress: a
// reconciliation with repeated failures alternates between a few statuses.
func (d *derivation) progresses(r *change.Reconciliation, w *change.Write) bool {
	if w.Version == nil || w.Part != change.Observed {
		return true
	}
	seen, look := d.looks[r], w.Version.Stage()
	if len(seen) >= maxLooks || slices.Contains(seen, look) {
		return false
	}
	d.looks[r] = append(seen, look)
	return true
}
