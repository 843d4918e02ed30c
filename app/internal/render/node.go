// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// node is one line of a tree with its children: a span, or a summary of hidden spans.
type node struct {
	span *span.Span
	// parts are the spans that a graph shows as one with span.
	parts    []*span.Span
	summary  string
	hidden   []*node
	notes    []piece
	children []*node
}

const (
	// foldAbove limits the similar siblings that are drawn.
	foldAbove = 6
	// keepProblems and keepSlowest limit the spans that remain of a larger group.
	keepProblems = 4
	keepSlowest  = 3
)

// forest arranges t's spans as trees. Spans without a parent in the trace are at the top. So are
// spans in a cycle, so that none is lost. The header has an aftermath.
func forest(t *span.Trace) []*node {
	nodes := make(map[trace.SpanID]*node, len(t.Spans))
	all := make([]*node, 0, len(t.Spans))
	for _, s := range t.Spans {
		if s.IsAftermath() {
			continue
		}
		n := &node{span: s}
		all = append(all, n)
		if _, twice := nodes[s.ID]; !twice {
			nodes[s.ID] = n
		}
	}
	var top []*node
	for _, n := range all {
		parent := nodes[n.span.Parent]
		if parent == nil || parent == n || n.span.RemoteParent || circular(n, nodes) {
			top = append(top, n)
			continue
		}
		parent.children = append(parent.children, n)
	}
	for _, n := range all {
		byStart(n.children)
	}
	return top
}

func byStart(siblings []*node) {
	slices.SortStableFunc(siblings, func(a, b *node) int { return a.span.Start.Compare(b.span.Start.Time) })
}

// circular reports whether n is its own ancestor.
func circular(n *node, nodes map[trace.SpanID]*node) bool {
	up := nodes[n.span.Parent]
	for range len(nodes) {
		if up == nil || up.span.RemoteParent {
			return false
		}
		if up == n {
			return true
		}
		up = nodes[up.span.Parent]
	}
	return false
}

// fold replaces many similar siblings by the most relevant ones and a summary.
func (n *node) fold(now time.Time) {
	n.children = foldSiblings(n.children, now)
	for _, c := range n.children {
		c.fold(now)
	}
}

func foldSiblings(siblings []*node, now time.Time) []*node {
	byName := map[string][]*node{}
	for _, c := range siblings {
		if c.span != nil {
			byName[c.span.Name] = append(byName[c.span.Name], c)
		}
	}
	for name, group := range byName {
		if len(group) <= foldAbove {
			continue
		}
		shown := worthiest(group, now)
		hidden := slices.DeleteFunc(slices.Clone(group), func(c *node) bool { return shown[c] })
		summary := &node{summary: summarize(name, hidden, now), hidden: hidden}
		last := group[len(group)-1]
		gone := map[*node]bool{}
		for _, c := range hidden {
			gone[c] = true
		}
		var kept []*node
		for _, c := range siblings {
			if !gone[c] {
				kept = append(kept, c)
			}
			if c == last {
				kept = append(kept, summary)
			}
		}
		siblings = kept
	}
	return siblings
}

// worthiest selects, from many similar spans, some failed ones, some open ones and the slowest.
func worthiest(group []*node, now time.Time) map[*node]bool {
	ranked := slices.Clone(group)
	slices.SortStableFunc(ranked, func(a, b *node) int {
		return cmp.Or(cmp.Compare(b.trouble(), a.trouble()), cmp.Compare(b.span.Duration(now), a.span.Duration(now)))
	})
	shown := map[*node]bool{}
	for _, c := range ranked {
		if c.trouble() > 0 && len(shown) < keepProblems {
			shown[c] = true
		}
	}
	slices.SortStableFunc(ranked, func(a, b *node) int {
		return cmp.Compare(b.span.Duration(now), a.span.Duration(now))
	})
	for _, c := range ranked[:max(1, keepSlowest-len(shown))] {
		shown[c] = true
	}
	return shown
}

// trouble ranks a span: 2 failed, 1 open or unfinished, 0 fine.
func (n *node) trouble() int {
	switch {
	case n.span == nil:
		return 0
	case failed(n.span):
		return 2
	case n.span.Open(), n.span.Outcome == span.Unfinished:
		return 1
	}
	return 0
}

// openBelow reports whether a child of n is open; a summary may hide one.
func (n *node) openBelow() bool {
	return slices.ContainsFunc(n.children, func(c *node) bool { return c.span == nil || c.span.Open() })
}

func failed(s *span.Span) bool { return s.Status == span.StatusError || s.Outcome == span.Failed }

// summarize describes the hidden similar spans.
func summarize(name string, hidden []*node, now time.Time) string {
	var lengths []time.Duration
	var bad, open int
	for _, c := range hidden {
		switch c.trouble() {
		case 2:
			bad++
		case 1:
			open++
		default:
			lengths = append(lengths, c.span.Duration(now))
		}
	}
	text := fmt.Sprintf("… %d more %s", len(hidden), escape(name))
	var facts []string
	if bad > 0 {
		facts = append(facts, fmt.Sprintf("%d failed", bad))
	}
	if open > 0 {
		facts = append(facts, fmt.Sprintf("%d open", open))
	}
	if len(lengths) > 0 {
		slices.Sort(lengths)
		facts = append(facts, "p50 "+brief(lengths[(len(lengths)-1)/2]), "max "+brief(lengths[len(lengths)-1]))
	}
	return text + " (" + join(facts, ", ") + ")"
}
