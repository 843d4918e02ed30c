// SPDX-License-Identifier: Apache-2.0

package trail

import (
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
)

// Missed adds the writes that only the audit log contains. It derives their parts from the
// requests: a write to desired state increments the generation.
func (tr *Trail) Missed(t *change.Timeline, out []change.Write, from int) []change.Write {
	if t.Audits == nil {
		return out
	}
	for _, q := range tr.joins(t).Missed {
		place, _ := t.Place(q.ResourceVersion)
		i := from
		for i < len(out) && out[i].RV < place {
			i++
		}
		w := change.Write{
			Timeline: t,
			RV:       place,
			Verb:     history.Updated,
			Part:     change.Bookkeeping,
			Manager:  q.Manager,
			Audit:    &q,
		}
		w.At = history.Moment{Lo: q.Start, Hi: q.End}
		known, _ := t.Position(place)
		if known > 0 {
			w.Before = t.Versions[known-1].ObjectVersion()
		}
		if i > from && out[i-1].ObjectVersion() > w.Before {
			w.Before = out[i-1].ObjectVersion()
		}
		if i < len(out) {
			out[i].Before = w.ObjectVersion()
		}
		switch {
		case q.Subresource == "status", q.Subresource == "binding":
			w.Part = change.Observed
		case known > 0 && q.Generation > t.Versions[known-1].Generation && t.Versions[known-1].Generation > 0:
			w.Part = change.Desired
		}
		out = append(out, change.Write{})
		copy(out[i+1:], out[i:])
		out[i] = w
	}
	return out
}
