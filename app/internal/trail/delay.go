// SPDX-License-Identifier: Apache-2.0

package trail

import (
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// Measure measures the delay of an audit log event. A longer delay counts at once, a shorter
// one gradually. Older events are history, for example after a pause of the reader.
func (tr *Trail) Measure(o *observation.Observation) {
	late := max(o.Seen.Sub(o.Write.End), 0)
	if late > change.MaxLag || o.Write.Unauthenticated {
		return
	}
	tr.at = history.Later(tr.at, o.Seen)
	tr.delay = max(late, tr.delay-tr.delay/64)
}

// maxSilence is the time without an event after which the audit log counts as ended.
const maxSilence = 5 * time.Minute

// Lags reports whether the request of w may still arrive.
func (tr *Trail) Lags(w *change.Write, now time.Time) bool {
	if tr.delay == 0 || now.Sub(tr.at) > maxSilence || w.Reconstructed || w.Request != nil || tr.Audited(w) != nil {
		return false
	}
	return now.Sub(w.Heard()) <= min(2*tr.delay, change.MaxLag)
}
