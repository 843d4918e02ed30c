// SPDX-License-Identifier: Apache-2.0

package ending

import "time"

// Clock is the present time of a derivation. It learns until when the derivation holds.
type Clock struct {
	now time.Time
	// until is the earliest time of a possible change without a new observation; zero if time alone
	// changes nothing.
	until time.Time
}

// NewClock returns a Clock that stands at now.
func NewClock(now time.Time) *Clock { return &Clock{now: now} }

// Holds reports whether the derivation is also valid at the time now, without a new observation.
func (c *Clock) Holds(now time.Time) bool {
	return now.Equal(c.now) || now.After(c.now) && (c.until.IsZero() || !now.After(c.until))
}

// Until returns the time up to which the derivation holds without a new observation; zero if time alone changes
// nothing.
func (c *Clock) Until() time.Time { return c.until }

// Passed reports whether more than the duration span has passed since the given time. Every
// decision that depends on the present time must call it, because it also limits the validity of
// the derivation.
func (c *Clock) Passed(since time.Time, span time.Duration) bool {
	if c.now.Sub(since) > span {
		return true
	}
	if at := since.Add(span); c.until.IsZero() || at.Before(c.until) {
		c.until = at
	}
	return false
}
