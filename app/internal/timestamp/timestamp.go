// SPDX-License-Identifier: Apache-2.0

// Package timestamp bounds times from untrusted sources: senders of spans and of audit events, and
// users of the cluster. The caller passes the present.
package timestamp

import (
	"math"
	"time"
)

// MaxAhead is the greatest possible distance of a time after the present. A clock further ahead is
// wrong.
const MaxAhead = 10 * time.Minute

// earliest is the first possible time; there was no tracing before it.
var earliest = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

// Possible reports whether t lies between the year 2000 and MaxAhead after now. Such a time fits
// into int64 nanoseconds if now does.
func Possible(t, now time.Time) bool {
	return !t.Before(earliest) && !t.After(now.Add(MaxAhead))
}

// Known returns t if it is possible, otherwise the zero time, which means unknown.
func Known(t, now time.Time) time.Time {
	if Possible(t, now) {
		return t
	}
	return time.Time{}
}

// FromNanos converts Unix nanoseconds, and reports whether the time is possible. An impossible one
// becomes the zero time.
func FromNanos(ns uint64, now time.Time) (time.Time, bool) {
	if ns > math.MaxInt64 {
		return time.Time{}, false
	}
	t := time.Unix(0, int64(ns)).UTC()
	if !Possible(t, now) {
		return time.Time{}, false
	}
	return t, true
}

// maxRequest is the longest possible duration of a request. API servers end write requests after
// about a minute.
const maxRequest = time.Hour

// Interval returns the possible start and end of a request, and whether it changed them. An
// impossible time is replaced by the other one, or by now if both are impossible. An end before the
// start becomes the start, which does not count as a change.
func Interval(start, end, now time.Time) (from, to time.Time, changed bool) {
	from, to = Known(start, now), Known(end, now)
	if !from.IsZero() && to.Sub(from) > maxRequest {
		from = time.Time{}
	}
	changed = from.IsZero() || to.IsZero()
	switch {
	case from.IsZero() && to.IsZero():
		from, to = now, now
	case from.IsZero():
		from = to
	case to.Before(from):
		to = from
	}
	return from, to, changed
}
