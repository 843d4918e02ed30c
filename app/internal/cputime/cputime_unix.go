// SPDX-License-Identifier: Apache-2.0

//go:build unix

// Package cputime measures processor time in tests. Unlike wall time, it excludes other processes.
package cputime

import (
	"syscall"
	"testing"
	"time"
)

// Used returns the processor time of this process so far.
func Used(tb testing.TB) time.Duration {
	tb.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
