// SPDX-License-Identifier: Apache-2.0

package span

import (
	"cmp"
	"slices"

	"go.opentelemetry.io/otel/trace"
)

// TreeOrder returns the spans of one trace in tree order: parents before children, siblings by
// start, each span once. If an ID is repeated, its children follow the first span. In each cycle
// one span loses its parent and becomes a root: the earliest with an outside parent, or else the
// earliest.
func TreeOrder(all []*Span) []*Span {
	nodes := tree(all)
	out := make([]*Span, 0, len(all))
	var stack []*node
	walk := func(from []*node) {
		stack = append(stack, from...)
		slices.Reverse(stack)
		for len(stack) > 0 {
			n := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if n.seen {
				continue
			}
			n.seen = true
			out = append(out, n.span)
			if n.first.walked {
				continue
			}
			n.first.walked = true
			for _, c := range slices.Backward(n.first.children) {
				stack = append(stack, c)
			}
		}
	}
	walk(nodes[0].children)
	var lost []*node
	var spans []*Span
	for i := range nodes[1:] {
		if n := &nodes[i+1]; !n.seen {
			lost, spans = append(lost, n), append(spans, n.span)
		}
	}
	circle := circular(spans)
	slices.SortFunc(lost, func(a, b *node) int {
		return cmp.Or(
			order(circle[a.span.ID], circle[b.span.ID]),
			order(a.span.RemoteParent, b.span.RemoteParent),
			compare(a.span, b.span),
		)
	})
	for _, n := range lost {
		if !n.seen {
			n.span.Parent, n.span.RemoteParent = trace.SpanID{}, false
			walk([]*node{n})
		}
	}
	return out
}

// node is a span with its place in the tree.
type node struct {
	span *Span
	// first is the first node with the same span ID. It has the children of all of them, and walked
	// means that they are in order already.
	first    *node
	children []*node
	walked   bool
	// seen means that the span is in order already.
	seen bool
}

// tree returns a node for each span, after one above the roots. Children are in order.
func tree(all []*Span) []node {
	nodes := make([]node, len(all)+1)
	first := make(map[trace.SpanID]*node, len(all))
	twins := map[*Span]bool{} // spans with a repeated ID
	for i, s := range all {
		n := &nodes[i+1]
		n.span, n.first = s, first[s.ID]
		if n.first == nil {
			n.first, first[s.ID] = n, n
			continue
		}
		n.seen = twins[s] || s == n.first.span
		twins[s] = true
	}
	for i, s := range all {
		up := first[s.Parent]
		if up == nil || !s.Parent.IsValid() {
			up = &nodes[0]
		}
		up.children = append(up.children, &nodes[i+1])
	}
	for i := range nodes {
		slices.SortFunc(nodes[i].children, func(a, b *node) int { return compare(a.span, b.span) })
	}
	return nodes
}

// circular returns the IDs of the spans that are their own ancestors.
func circular(spans []*Span) map[trace.SpanID]bool {
	parents := make(map[trace.SpanID]trace.SpanID, len(spans))
	for _, s := range spans {
		if _, twice := parents[s.ID]; !twice {
			parents[s.ID] = s.Parent
		}
	}
	out := map[trace.SpanID]bool{}
	judged := make(map[trace.SpanID]bool, len(parents))
	for _, s := range spans {
		at, way := s.ID, map[trace.SpanID]bool{}
		for !judged[at] && at.IsValid() {
			judged[at], way[at] = true, true
			at = parents[at]
		}
		for way[at] && !out[at] {
			out[at] = true
			at = parents[at]
		}
	}
	return out
}

// order sorts true before false.
func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// compare orders siblings.
func compare(a, b *Span) int {
	return cmp.Or(a.Start.Compare(b.Start.Time), cmp.Compare(a.order(), b.order()), slices.Compare(a.ID[:], b.ID[:]))
}
