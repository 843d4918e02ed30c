// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"time"

	"golang.org/x/sys/unix"
)

// sinceBoot measures time by the clock that also goes while the machine sleeps,
// which Go's monotonic clock does not: a machine that wakes up has not had its
// clock set.
func sinceBoot() func(time.Time) time.Duration {
	began, ok := boottime()
	if !ok {
		return time.Since
	}
	return func(since time.Time) time.Duration {
		now, ok := boottime()
		if !ok {
			return time.Since(since)
		}
		return now - began
	}
}

func boottime() (time.Duration, bool) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t)
	return time.Duration(t.Nano()), err == nil
}
