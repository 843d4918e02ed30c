//go:build !linux

// SPDX-License-Identifier: Apache-2.0

package serve

import "time"

// sinceBoot returns Go's monotonic clock.
func sinceBoot() func(time.Time) time.Duration { return time.Since }
