// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"time"

	"golang.org/x/sys/unix"
)

// sinceBoot returns a clock that includes the sleep of the machine, unlike Go's monotonic clock. So
// a wake-up is no jump.
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
