// SPDX-License-Identifier: Apache-2.0

package shard

import "slices"

// floor returns the Since that a member may publish, given that its own open work starts at open. A
// member that does not observe all namespaces of t yet may have inherited older work.
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

// drained reports whether a leaving member with the published State s has no work left that only it
// can do.
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
