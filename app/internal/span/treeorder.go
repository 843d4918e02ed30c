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
	families := make(map[trace.SpanID]*family, len(all))
	slab := make([]family, len(all)+1)
	for i, s := range all {
		if families[s.ID] == nil {
			families[s.ID] = &slab[i]
		}
	}
	roots := &slab[len(all)]
	for _, s := range all {
		above := families[s.Parent]
		if above == nil || !s.Parent.IsValid() {
			above = roots
		}
		above.children = append(above.children, s)
	}
	for i := range slab {
		slices.SortFunc(slab[i].children, compare)
	}
	out := make([]*Span, 0, len(all))
	seen := make(map[*Span]bool, len(all))
	var stack []*Span
	push := func(siblings []*Span) {
		for _, s := range slices.Backward(siblings) {
			stack = append(stack, s)
		}
	}
	walk := func(from []*Span) {
		push(from)
		for len(stack) > 0 {
			s := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if seen[s] {
				continue
			}
			seen[s] = true
			out = append(out, s)
			if f := families[s.ID]; !f.walked {
				f.walked = true
				push(f.children)
			}
		}
	}
	walk(roots.children)
	if len(out) == len(all) {
		return out
	}
	lost := slices.DeleteFunc(slices.Clone(all), func(s *Span) bool { return seen[s] })
	circle := circular(lost)
	slices.SortFunc(lost, func(a, b *Span) int {
		return cmp.Or(order(circle[a.ID], circle[b.ID]), order(a.RemoteParent, b.RemoteParent), compare(a, b))
	})
	for _, s := range lost {
		if !seen[s] {
			s.Parent, s.RemoteParent = trace.SpanID{}, false
			walk([]*Span{s})
		}
	}
	return out
}

// family holds the children of a span ID. walked means that they are in order already.
type family struct {
	children []*Span
	walked   bool
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
