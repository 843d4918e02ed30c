// SPDX-License-Identifier: Apache-2.0

// Package cputime measures processor time in tests.
package cputime

import (
	"testing"
	"time"
)

var began = time.Now()

// Used is wall time where nothing better is at hand.
func Used(testing.TB) time.Duration { return time.Since(began) }
