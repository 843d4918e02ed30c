// SPDX-License-Identifier: Apache-2.0

package trail

import (
	"github.com/kube-lifeline/lifeline/app/internal/audit"
	"github.com/kube-lifeline/lifeline/app/internal/change"
)

// Audited returns the request of the audit log that made w, or nil if none is known. It gives the
// time and the author of a write. It affects only one decision about causes: whether the owner's
// controller was the author (rule A2).
func (tr *Trail) Audited(w *change.Write) *audit.Joined {
	if w.Audit != nil {
		return w.Audit
	}
	if w.Reconstructed || w.Timeline.Audits == nil {
		return nil
	}
	j := tr.joins(w.Timeline)
	if w.Version == nil {
		if j.Removal.Write != nil && w.Timeline.Removal != nil && w.RV == w.Timeline.Removal.RV {
			return &j.Removal
		}
		return nil
	}
	if found, ok := j.Version[w.ObjectVersion()]; ok {
		return &found
	}
	return nil
}
