// SPDX-License-Identifier: Apache-2.0

package render

import "fmt"

// density says how much of a tree is drawn where there is little room.
type density int

const (
	// unlimited draws all.
	unlimited density = iota
	// openOnly draws what has ended as one line, without what is below.
	openOnly
	// countEnded counts what has ended, line by line of its parent.
	countEnded
)

// thin takes from below n what d leaves out.
func (n *node) thin(d density) {
	if d == unlimited {
		return
	}
	var kept, ended []*node
	for _, c := range n.children {
		switch {
		case c.span == nil || c.unsettled():
			c.thin(d)
			kept = append(kept, c)
		case d == openOnly:
			c.children = nil
			kept = append(kept, c)
		default:
			ended = append(ended, c)
		}
	}
	switch len(ended) {
	case 0:
	case 1: // it takes no more room than its count
		ended[0].children = nil
		kept = append(kept, ended[0])
	default:
		kept = append(kept, &node{summary: fmt.Sprintf("… %d done", len(ended))})
	}
	n.children = kept
}

// unsettled reports whether n or anything below it is open or went wrong.
func (n *node) unsettled() bool {
	if n.trouble() > 0 {
		return true
	}
	for _, c := range n.children {
		if c.unsettled() {
			return true
		}
	}
	return false
}
