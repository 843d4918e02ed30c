// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"slices"
	"time"
)

// recall keeps the earlier values of Done, so that a member can publish them for a while longer.
// Late data of finished work then finds a member that can store them: the leaving member itself, or
// its heirs, which read from there. The zero value keeps nothing.
type recall struct {
	span  time.Duration
	known []asOf
}

// asOf is the resourceVersion below which all work was done at a time.
type asOf struct {
	at    time.Time
	since uint64
}

// since adds the present value, and returns the lowest value of the span. An unknown value (0) is
// not kept.
func (r *recall) since(now time.Time, open uint64) uint64 {
	if open == 0 || r.span == 0 {
		return open
	}
	r.known = append(r.known, asOf{now, open})
	begin := now.Add(-r.span)
	// The newest of the earlier values was valid at the beginning of the span.
	for len(r.known) > 1 && !r.known[1].at.After(begin) {
		r.known = slices.Delete(r.known, 0, 1)
	}
	for _, k := range r.known {
		open = min(open, k.since)
	}
	return open
}
