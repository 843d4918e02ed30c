// SPDX-License-Identifier: Apache-2.0

//go:build unix

package watch

import (
	"syscall"
	"testing"
	"time"
)

// cpuTime returns the processor time of this process. Unlike wall time, it excludes other
// processes.
func cpuTime(tb testing.TB) time.Duration {
	tb.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
