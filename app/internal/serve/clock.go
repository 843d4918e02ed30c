// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"sync"
	"time"
)

const (
	// maxStep is how far the wall clock may be from where it should be before
	// that counts as a jump.
	maxStep = 2 * time.Second
	// slewShare is the part of the time that passes by which the clock follows
	// one that has jumped: one second in ten.
	slewShare = 10
	// maxAhead is how far ahead of the wall clock what is stored may be for the
	// clock to go on from there.
	maxAhead = 10 * time.Minute
)

// clock is the server's only clock. It goes as the monotonic clock does and
// follows the wall clock, so it never goes back and never leaps: a clock that is
// set while the server runs would otherwise end every open trace for want of
// progress, or turn spans around. What a jump leaves between the two is made up
// for slowly. It is safe for concurrent use.
type clock struct {
	// read returns the wall clock with a monotonic reading: time.Now.
	read func() time.Time
	// since is how much time has passed since a reading, by a clock that
	// nobody sets.
	since func(time.Time) time.Duration
	// jumped is told by how much the wall clock has jumped; may be nil.
	jumped func(by time.Duration)

	mu sync.Mutex
	// began is the first reading; start is what the clock showed then.
	began time.Time
	start time.Time
	// passed is the time since then as last read; offset is what the clock
	// shows beyond that; ahead is by how much the wall clock was ahead of it.
	passed, offset, ahead time.Duration
}

// newClock starts a clock that shows the wall clock's time, or notBefore if that
// is later.
func newClock(read func() time.Time, notBefore time.Time, jumped func(time.Duration)) *clock {
	c := &clock{read: read, since: sinceBoot(), jumped: jumped, began: read()}
	c.start = c.began.Round(0)
	if notBefore.After(c.start) {
		c.ahead = c.start.Sub(notBefore)
		c.start = notBefore.Round(0)
	}
	return c
}

// Now is the present.
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
	// Follow, but never by more than the slew: what is behind waits.
	follow := min(max(ahead, -slew), slew)
	c.offset += follow
	c.ahead = ahead - follow
	return c.start.Add(passed + c.offset)
}
