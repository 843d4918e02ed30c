// SPDX-License-Identifier: Apache-2.0

package shard

import "slices"

// floor is what a member may say about since: below which resourceVersion it
// has nothing left to do, if its own work would let it say open. Until it
// observes what t asks for, it may have inherited anything.
func floor(open uint64, t Table, ready bool) uint64 {
	if ready {
		return open
	}
	for _, e := range t.Epochs {
		for _, g := range e.Gone {
			open = min(open, g.Since)
		}
	}
	return open
}

// drained reports whether a member that is leaving, and has said s, has nothing
// left to do that nobody else will.
func drained(t Table, identity string, s State) bool {
	n := len(t.Epochs)
	if n == 0 {
		return true
	}
	if t.Pending != nil || s.Version < t.Version {
		return false
	}
	last := t.Epochs[n-1].live()
	return len(last) > 0 && !slices.Contains(last, identity) && s.Since >= t.Epochs[n-1].From
}
