// SPDX-License-Identifier: Apache-2.0

package placing

import (
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/change"
)

// maxStages is the maximum number of different statuses that are kept per reconciliation.
const maxStages = 256

// progresses reports whether w is progress for r. A repeated status is not progress: a
// reconciliation with repeated failures alternates between a few statuses.
func progresses(r *change.Reconciliation, w *change.Write) bool {
	if w.Version == nil || w.Part != change.Observed {
		return true
	}
	if len(r.Stages) >= maxStages {
		return false
	}
	stage := w.Version.Stage()
	if slices.Contains(r.Stages, stage) {
		return false
	}
	r.Stages = append(r.Stages, stage)
	return true
}
