// SPDX-License-Identifier: Apache-2.0

package trail

import (
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Began returns the time of the request of w, with the best known precision. It is for spans only,
// never for conclusions.
func (tr *Trail) Began(w *change.Write) history.Moment {
	q := tr.Audited(w)
	if q == nil || w.Request != nil || w.Version != nil && q.Start.After(w.Version.Seen) {
		return w.At // also if the clocks differ
	}
	return history.Moment{Lo: q.Start, Hi: q.Start, Exact: span.TimeAudit}
}

// Start returns the start of the span of r. It is not later than the effects of r (rule T).
func (tr *Trail) Start(r *change.Reconciliation) history.Moment {
	if r.Start != nil {
		return *r.Start
	}
	m := tr.Began(r.First())
	r.Start = &m
	for _, c := range r.Children {
		below := tr.Start(c)
		if below.Exact == span.TimeAudit {
			m = m.Before(below.Hi)
		}
		m = m.NotAfter(below.At().Time)
	}
	return m
}

// Stored returns the time of the storage of v, with the best known precision. The latest possible
// time is the response to the request that stored v.
func (tr *Trail) Stored(t *change.Timeline, v *history.Version) history.Moment {
	if t.Audits != nil {
		if q, ok := tr.joins(t).Version[v.ObjectVersion()]; ok {
			return history.Moment{Lo: q.End, Hi: q.End, Exact: span.TimeAudit}
		}
	}
	return history.Arrival(v)
}

// StoredIn is Stored within the second that starts at since, by a timestamp of the object. A
// kubelet may report the change later.
func (tr *Trail) StoredIn(t *change.Timeline, v *history.Version, since time.Time) history.Moment {
	m := tr.Stored(t, v)
	if m.Exact != "" && (since.IsZero() || !m.Hi.Before(since) && m.Hi.Before(since.Add(time.Second))) {
		return m
	}
	return history.Arrival(v).Within(since)
}

// Gone returns the time of the removal of the object. After an outage of the watch it is the last time at
// which the object was certainly there: the duration of the outage is not part of the deletion.
func (tr *Trail) Gone(t *change.Timeline) history.Moment {
	if t.Audits != nil {
		if q := tr.joins(t).Removal; q.Write != nil {
			return history.Moment{Lo: q.End, Hi: q.End, Exact: span.TimeAudit}
		}
	}
	if !t.Removal.Listed {
		return history.Moment{Hi: t.Removal.Seen, Live: true}
	}
	lo := history.Alive(t.Last())
	if lo.After(t.Removal.Seen) {
		lo = t.Removal.Seen
	}
	return history.Moment{Lo: lo, Hi: t.Removal.Seen}
}
