// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"testing"
	"time"
)

var began = time.Now()

// cpuTime is wall time where nothing better is at hand.
func cpuTime(testing.TB) time.Duration { return time.Since(began) }
