// SPDX-License-Identifier: Apache-2.0

package trail

import (
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// Trim forgets the requests that ended before the given time, or all requests if it is zero.
// It counts their results.
func (tr *Trail) Trim(t *change.Timeline, before time.Time) {
	if t.Audits == nil {
		return
	}
	j := tr.joins(t)
	made := map[*observation.Write]bool{j.Removal.Write: true}
	for _, q := range j.Found {
		made[q.Write] = true
	}
	for _, q := range j.Version {
		made[q.Write] = true
	}
	for _, q := range j.Missed {
		made[q.Write] = true
	}
	unjoined := uint64(0)
	t.ForgetAudits(func(w *observation.Write) bool {
		goes := before.IsZero() || w.End.Before(before)
		switch {
		case goes && made[w]:
			tr.tally.Joined++
		case goes:
			unjoined++
		}
		return goes
	})
	ambiguous := min(unjoined, uint64(j.Ambiguous)) //nolint:gosec // a count
	tr.tally.Ambiguous += ambiguous
	tr.tally.Unmatched += unjoined - ambiguous
	Doubt(t)
	if len(t.Audits.List) == 0 {
		t.Audits = nil
	}
}
