// SPDX-License-Identifier: Apache-2.0

package trail

import (
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/audit"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
)

// Missed adds the writes that only the audit log contains. It derives their parts from the
// requests: a write to desired state increments the generation.
func (tr *Trail) Missed(t *change.Timeline, out []change.Write, from int) []change.Write {
	if t.Audits == nil {
		return out
	}
	if all := tr.joins(t).Found; len(all) > 0 {
		out = found(t, out, from, all)
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
		case known > 0 && t.Versions[known-1].Generation == 0 && q.Unlisted && audit.ChangesObject(q.Write) &&
			!audit.IsComponent(q.User):
			w.Part = change.Desired // nothing else shows a change of a kind without generations
		}
		out = append(out, change.Write{})
		copy(out[i+1:], out[i:])
		out[i] = w
	}
	return out
}

// found adds the writes behind the state that the first list showed. The last one made that state. It completes
// the write that was concluded from the state, if there is one.
func found(t *change.Timeline, out []change.Write, from int, all []audit.Joined) []change.Write {
	v := t.Versions[0]
	w := change.Write{Timeline: t, RV: v.ResourceVersion, Part: change.Desired, Version: v, Reconstructed: true}
	if len(out) > from && out[from].Reconstructed {
		w = out[from]
		out = slices.Delete(out, from, from+1)
	}
	var writes []change.Write
	for i := range all {
		q := &all[i]
		one := w
		if i < len(all)-1 {
			place, _ := t.Place(q.ResourceVersion)
			one = change.Write{Timeline: t, RV: place, Part: change.Desired, Reconstructed: true}
		} else if one.Arrived.IsZero() && !change.Found(v) {
			one.Arrived = arrived(v, q)
		}
		one.Verb, one.Manager, one.Audit = history.RequestVerb(q.Write), q.Manager, q
		one.At = history.Moment{Lo: q.Start, Hi: q.End}
		writes = append(writes, one)
	}
	return slices.Insert(out, from, writes...)
}

// arrived returns the time of the last status in v, but not before the end of the request.
func arrived(v *history.Version, q *audit.Joined) time.Time {
	at := q.End
	for _, m := range v.Managers {
		if m.Subresource == "status" {
			at = history.Later(at, m.Time)
		}
	}
	return at
}
