// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"slices"
	"time"
)

// recall remembers what a member had left to do, so that it can say for a while
// longer that it had. What comes late of something finished then finds who is
// able to tell it: the member while it leaves, or its heirs, who read from there.
// The zero value remembers nothing.
type recall struct {
	span  time.Duration
	known []asOf
}

// asOf is the resourceVersion below which nothing was left to do at a time.
type asOf struct {
	at    time.Time
	since uint64
}

// since notes what is so now, and returns the lowest of what was so in the span.
// Not knowing yet is not remembered.
func (r *recall) since(now time.Time, open uint64) uint64 {
	if open == 0 || r.span == 0 {
		return open
	}
	r.known = append(r.known, asOf{now, open})
	begin := now.Add(-r.span)
	// The newest of those before is what was so when the span began.
	for len(r.known) > 1 && !r.known[1].at.After(begin) {
		r.known = slices.Delete(r.known, 0, 1)
	}
	for _, k := range r.known {
		open = min(open, k.since)
	}
	return open
}
