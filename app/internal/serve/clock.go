// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"sync"
	"time"
)

const (
	// maxStep is the largest deviation of the wall clock that is no jump.
	maxStep = 2 * time.Second
	// slewShare is the speed of the correction after a jump: one second in ten.
	slewShare = 10
	// maxAhead bounds the time by which stored data may be ahead of the wall clock. Beyond it, the
	// server discards the saved engine.
	maxAhead = 10 * time.Minute
)

// clock is the server's only clock. It has the monotonic clock's speed and follows the wall clock,
// so it never goes back and never leaps. A jump of the wall clock would otherwise end every open
// trace for lack of progress, or reverse spans. The clock follows a jump slowly. It is safe for
// concurrent use.
type clock struct {
	// read returns the wall clock with a monotonic reading: time.Now.
	read func() time.Time
	// since returns the time since a reading, by a clock that cannot be set.
	since func(time.Time) time.Duration
	// jumped gets the size of each jump of the wall clock; may be nil.
	jumped func(by time.Duration)

	mu sync.Mutex
	// began is the first reading; start is the clock's time at that moment.
	began time.Time
	start time.Time
	// passed is the time from began to the last reading. offset is the clock's additional time.
	// ahead is the wall clock's lead over the clock.
	passed, offset, ahead time.Duration
}

// newClock starts a clock at the wall clock's time, or at notBefore if that is later.
func newClock(read func() time.Time, notBefore time.Time, jumped func(time.Duration)) *clock {
	c := &clock{read: read, since: sinceBoot(), jumped: jumped, began: read()}
	c.start = c.began.Round(0)
	if notBefore.After(c.start) {
		c.ahead = c.start.Sub(notBefore)
		c.start = notBefore.Round(0)
	}
	return c
}

// Now returns the present time.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.read()
	passed := max(c.since(c.began), c.passed)
	slew := (passed - c.passed) / slewShare
	c.passed = passed
	ahead := now.Round(0).Sub(c.start.Add(passed + c.offset))
	if step := ahead - c.ahead; step > maxStep || step < -maxStep {
		if c.jumped != nil {
			c.jumped(step)
		}
	}
	// The correction never exceeds the slew; the rest follows later.
	follow := min(max(ahead, -slew), slew)
	c.offset += follow
	c.ahead = ahead - follow
	return c.start.Add(passed + c.offset)
}
