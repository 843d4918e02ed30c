// SPDX-License-Identifier: Apache-2.0

package render

import "fmt"

// density is the level of detail of a tree in a small screen.
type density int

const (
	// unlimited draws all.
	unlimited density = iota
	// openOnly draws an ended span as one line, without its descendants.
	openOnly
	// countEnded counts ended spans in one line per parent.
	countEnded
)

// thin removes the descendants of n that d hides.
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
	case 1: // as short as its count
		ended[0].children = nil
		kept = append(kept, ended[0])
	default:
		kept = append(kept, &node{summary: fmt.Sprintf("… %d done", len(ended))})
	}
	n.children = kept
}

// unsettled reports whether n or a descendant is open or failed.
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
