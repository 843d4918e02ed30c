// SPDX-License-Identifier: Apache-2.0

// Package outline makes a short tree of a trace: siblings that are alike become a group with
// statistics, and the spans of other components are counted. Each group, and each count, has a key that
// opens it. The size of an outline is bounded, whatever the size of the trace.
package outline

import (
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

const (
	// GroupFrom is the number of siblings from which those that are alike become a group.
	GroupFrom = 7
	// MaxOutliers is the number of outliers of a group.
	MaxOutliers = 5
	// PageLength is the number of nodes in one list of children.
	PageLength = 200
	// MaxNodes bounds the nodes of an outline. Beyond it, nodes have no children but keys.
	MaxNodes = 5000
)

// Node is a span, or a group of alike siblings, or above the roots.
type Node struct {
	// Span is nil for the others.
	Span *span.Span
	// Group is nil for a span.
	Group *Group
	// Spans counts the span and its descendants, or those of all members.
	Spans int
	// Others counts the hidden children, with their descendants: those of other components, and routine
	// writes (insight.Routine). OthersKey opens them.
	Others    int
	OthersKey Key
	// Children are Lifeline's own, or opened ones, in the order of their starts.
	Children []*Node
	// More counts the further children, and MoreKey opens the next of them. The members of a group are
	// not among its children.
	More    int
	MoreKey Key
}

// Tree holds the arranged spans of a trace, for several outlines. It is safe for concurrent use.
type Tree struct {
	now time.Time
	// top is above all roots.
	top *twig
	// bySpan has the twigs by the ID of their span.
	bySpan map[trace.SpanID]*twig
}

// twig is a span with its place in the tree.
type twig struct {
	span *span.Span // nil for the top
	// mine are the children to show at once: Lifeline's own, and those with some of Lifeline's below.
	// others are those of other components alone, and routine writes.
	mine, others []*twig
	// spans counts the span and its descendants, and otherSpans those of others.
	spans, otherSpans int
	// shown is true for a span of Lifeline that is no routine write, or with one below.
	shown bool
	alike string
}

// New arranges the spans of t, which must not change afterwards. Open spans last until now. An aftermath is left out:
// it is far later than the rest, and the summary has it.
func New(t *span.Trace, now time.Time) *Tree {
	ordered := make([]*span.Span, 0, len(t.Spans))
	for _, s := range t.Spans {
		if s.IsAftermath() {
			continue
		}
		one := *s // TreeOrder cuts cycles
		ordered = append(ordered, &one)
	}
	ordered = span.TreeOrder(ordered)
	out := &Tree{now: now, top: &twig{}, bySpan: make(map[trace.SpanID]*twig, len(ordered))}
	twigs := make([]*twig, len(ordered))
	for i, s := range ordered {
		twigs[i] = &twig{span: s, spans: 1, shown: s.Origin == nil && !insight.Routine(t, s)}
		if out.bySpan[s.ID] == nil {
			out.bySpan[s.ID] = twigs[i]
		}
	}
	for _, w := range slices.Backward(twigs) { // children come before their parents
		up := out.above(w)
		up.spans += w.spans
		up.shown = up.shown || w.shown
		if w.shown {
			up.mine = append(up.mine, w)
		} else {
			up.others = append(up.others, w)
			up.otherSpans += w.spans
		}
	}
	if top := out.top; len(top.mine) == 0 { // a trace of other components alone
		top.mine, top.others, top.otherSpans = top.others, nil, 0
	}
	for _, w := range append(twigs, out.top) {
		slices.Reverse(w.mine)
		slices.Reverse(w.others)
	}
	for _, w := range twigs {
		if w.shown {
			w.alike = likeness(w)
		}
	}
	return out
}

// above returns the twig above w. A span with a repeated ID is no parent.
func (t *Tree) above(w *twig) *twig {
	if up := t.bySpan[w.span.Parent]; up != nil && up != w && w.span.Parent.IsValid() {
		return up
	}
	return t.top
}

// Outline returns a node above the roots.
func (t *Tree) Outline() *Node { return (&builder{Tree: t}).node(t.top) }

// Open returns a node with the children that a key of an outline of the same tree names. The error is
// ErrKey for another key.
func (t *Tree) Open(k Key) (*Node, error) {
	w := t.top
	if k.of.IsValid() {
		w = t.bySpan[k.of]
	}
	if w == nil {
		return nil, fmt.Errorf("%q of another trace: %w", k, ErrKey)
	}
	b := &builder{Tree: t}
	var list []entry
	switch k.list {
	case children:
		list = b.folded(w)
	case others:
		list = b.plain(w.others)
	case members:
		for _, c := range w.mine {
			if hash(c.alike) == k.alike {
				list = append(list, func() *Node { return b.node(c) })
			}
		}
	}
	if k.From >= len(list) {
		return nil, fmt.Errorf("%q of an earlier version of the trace: %w", k, ErrKey)
	}
	out := &Node{}
	b.addList(out, k, list)
	return out, nil
}
