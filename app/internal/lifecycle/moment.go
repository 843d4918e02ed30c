// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// moment is what is known of when something happened (rule T): an interval,
// and whether its upper end is a live arrival, which is usually close.
type moment struct {
	lo, hi time.Time
	live   bool
	exact  span.TimeSource
}

// arrival says: not later than v was seen; and, where only a list or a late
// watch showed it, not before the newest write that its managedFields tell of.
func arrival(v *version) moment {
	m := moment{hi: v.seen, live: !v.listed}
	if !v.listed {
		return m
	}
	for _, entry := range v.Managers {
		if entry.Time.After(m.lo) && !entry.Time.After(m.hi) {
			m.lo = entry.Time
		}
	}
	return m
}

// whole says: within the second that starts at t, as object timestamps do.
func whole(t time.Time) moment {
	if t.IsZero() {
		return moment{}
	}
	return moment{lo: t, hi: t.Add(time.Second)}
}

// late is how much later than the truth a live arrival may be and still tell
// something: an Event of the last milliseconds of a second arrives in the next.
const late = 500 * time.Millisecond

// within intersects m with the second that starts at t. A live arrival shortly
// after that second means its end. Where the two do not meet otherwise, the
// clocks differ or the arrival was late, and the object's own timestamp stands.
func (m moment) within(t time.Time) moment {
	if t.IsZero() || m.exact != "" {
		return m
	}
	w := whole(t)
	switch {
	case m.hi.IsZero(), m.hi.Before(w.lo), m.hi.Sub(w.hi) > late:
		return w
	case m.hi.After(w.hi):
		m.hi = w.hi
	}
	m.lo = w.lo
	return m
}

// before cuts what lies after t.
func (m moment) before(t time.Time) moment {
	if !t.IsZero() && m.exact == "" && t.After(m.lo) && t.Before(m.hi) {
		m.hi = t
	}
	return m
}

// exactly replaces m by the time at which the request was received, if there
// is one.
func (m moment) exactly(req *observation.Write) moment {
	if req == nil {
		return m
	}
	return moment{lo: req.Start, hi: req.Start, exact: span.TimeRequest}
}

// over reports whether the moment was certainly before t.
func (m moment) over(t time.Time) bool { return m.hi.Before(t) && m.lo.Before(t) }

// known reports whether anything is known.
func (m moment) known() bool { return !m.hi.IsZero() || !m.lo.IsZero() }

// at is the best single guess, and its source: the live arrival if there is
// one, else the beginning of the second.
func (m moment) at() span.Time {
	switch {
	case m.exact != "":
		return span.Time{Time: m.lo, Source: m.exact}
	case m.live:
		return span.Time{Time: m.hi, Source: span.TimeWatch}
	case !m.lo.IsZero():
		return span.Time{Time: m.lo, Source: span.TimeObject}
	case !m.hi.IsZero():
		return span.Time{Time: m.hi, Source: span.TimeWatch}
	}
	return span.Time{}
}
