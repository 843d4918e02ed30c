// SPDX-License-Identifier: Apache-2.0

package history

import (
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Moment is the known time of something (rule T): the interval from Lo to Hi. A zero bound is
// unknown. Live means that Hi is a live arrival, usually close to the truth. Exact is the
// source of an exact time; Lo and Hi are then equal. It is empty for any other time. Range means
// that nothing has the time: it is anywhere between the bounds, and Hi is the best single time.
type Moment struct {
	Lo, Hi time.Time
	Live   bool
	Exact  span.TimeSource
	Range  bool
}

// Between returns a Range. lo may be zero.
func Between(lo, hi time.Time) Moment {
	if lo.After(hi) {
		lo = hi
	}
	return Moment{Lo: lo, Hi: hi, Range: true}
}

// NotAfter returns a Range that ends at t, and not before its beginning. It changes no other moment.
func (m Moment) NotAfter(t time.Time) Moment {
	if m.Range && !t.IsZero() && t.Before(m.Hi) {
		m.Hi = Later(m.Lo, t)
	}
	return m
}

// Earliest returns the beginning of a Range of more than a second; zero for any other moment.
func (m Moment) Earliest() time.Time {
	if m.Range && m.Hi.Sub(m.Lo) > time.Second {
		return m.Lo
	}
	return time.Time{}
}

// Arrival returns the time of the write of v, by the observation of v. The upper bound is v.Seen.
// If only a list or a late watch showed v, the lower bound is the newest time in its managedFields
// up to v.Seen.
func Arrival(v *Version) Moment {
	m := Moment{Hi: v.Seen, Live: !v.Listed}
	if !v.Listed {
		return m
	}
	for _, entry := range v.Managers {
		if entry.Time.After(m.Lo) && !entry.Time.After(m.Hi) {
			m.Lo = entry.Time
		}
	}
	return m
}

// Alive returns the latest time at which v was certainly stored: that of a live arrival, or the newest
// timestamp of the object up to its observation. It is zero if v is nil.
func Alive(v *Version) time.Time {
	switch {
	case v == nil:
		return time.Time{}
	case !v.Listed:
		return v.Seen
	}
	return Later(v.Created, Later(Arrival(v).Lo, v.Deleting.Add(-time.Duration(v.GraceSeconds)*time.Second)))
}

// Whole returns the second that starts at t, because object timestamps have whole seconds. For a
// zero t it returns the zero Moment.
func Whole(t time.Time) Moment {
	if t.IsZero() {
		return Moment{}
	}
	return Moment{Lo: t, Hi: t.Add(time.Second)}
}

// late is the maximum useful delay of a live arrival: an Event of the last milliseconds of a second
// arrives in the next second.
const late = 500 * time.Millisecond

// Within intersects m with the second that starts at t. An upper bound shortly after that second
// becomes its end. If the two do not meet otherwise, the clocks differ or the arrival was late.
// Within then returns the second itself. An exact m and a zero t change nothing.
func (m Moment) Within(t time.Time) Moment {
	if t.IsZero() || m.Exact != "" {
		return m
	}
	w := Whole(t)
	m.Range = false
	switch {
	case m.Hi.IsZero(), m.Hi.Before(w.Lo), m.Hi.Sub(w.Hi) > late:
		return w
	case m.Hi.After(w.Hi):
		m.Hi = w.Hi
	}
	m.Lo = w.Lo
	return m
}

// Before returns m without its part after t. It changes nothing if m is exact or t is outside m.
func (m Moment) Before(t time.Time) Moment {
	if !t.IsZero() && m.Exact == "" && t.After(m.Lo) && t.Before(m.Hi) {
		m.Hi = t
	}
	return m
}

// After returns m for something that was no earlier than before. It changes nothing if m is exact or live,
// or if before has an upper bound only.
func (m Moment) After(before Moment) Moment {
	if m.Exact != "" || m.Live || before.Exact == "" && !before.Live && before.Lo.IsZero() {
		return m
	}
	t := before.At().Time
	if t.After(m.Lo) {
		m.Lo = t
	}
	if !m.Hi.IsZero() && t.After(m.Hi) {
		m.Hi = t
	}
	return m
}

// Exactly returns the time of the reception of the request. Without a request it returns m.
func (m Moment) Exactly(req *observation.Write) Moment {
	if req == nil {
		return m
	}
	return Moment{Lo: req.Start, Hi: req.Start, Exact: span.TimeRequest}
}

// Over reports whether m is certainly before t.
func (m Moment) Over(t time.Time) bool { return m.Hi.Before(t) && m.Lo.Before(t) }

// Known reports whether m has a bound.
func (m Moment) Known() bool { return !m.Hi.IsZero() || !m.Lo.IsZero() }

// At returns the best single time of m, with its source: an exact time, a live arrival or the end of a
// Range, the lower bound, or the upper bound, in this order. It is zero if nothing is known.
func (m Moment) At() span.Time {
	switch {
	case m.Exact != "":
		return span.Time{Time: m.Lo, Source: m.Exact}
	case m.Live, m.Range && !m.Earliest().IsZero(), m.Range && m.Lo.IsZero():
		return span.Time{Time: m.Hi, Source: span.TimeWatch}
	case !m.Lo.IsZero():
		return span.Time{Time: m.Lo, Source: span.TimeObject}
	case !m.Hi.IsZero():
		return span.Time{Time: m.Hi, Source: span.TimeWatch}
	}
	return span.Time{}
}

// ExactlyEnd returns the time of the response to the request. Without a request it returns m.
func (m Moment) ExactlyEnd(req *observation.Write) Moment {
	if req == nil {
		return m
	}
	return Moment{Lo: req.End, Hi: req.End, Exact: span.TimeRequest}
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
