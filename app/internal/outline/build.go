// SPDX-License-Identifier: Apache-2.0

package outline

import "go.opentelemetry.io/otel/trace"

// builder makes the nodes of one answer.
type builder struct {
	*Tree
	// nodes counts the nodes so far.
	nodes int
}

// node returns the node of a span, with its children.
func (b *builder) node(w *twig) *Node {
	b.nodes++
	out := &Node{Span: w.span, Spans: w.spans, Others: w.otherSpans}
	if len(w.others) > 0 {
		out.OthersKey = Key{list: others, of: idOf(w)}
	}
	b.addList(out, Key{list: children, of: idOf(w)}, b.folded(w))
	return out
}

func idOf(w *twig) trace.SpanID {
	if w.span == nil {
		return trace.SpanID{}
	}
	return w.span.ID
}

// entry makes one node of a list.
type entry func() *Node

// addList adds a page of the list that key names.
func (b *builder) addList(to *Node, key Key, list []entry) {
	for i, one := range list[min(key.From, len(list)):] {
		if i == PageLength || b.nodes >= MaxNodes {
			to.More = len(list) - key.From - i
			to.MoreKey = key
			to.MoreKey.From += i
			return
		}
		to.Children = append(to.Children, one())
	}
}

// plain returns an entry for each span.
func (b *builder) plain(list []*twig) []entry {
	out := make([]entry, len(list))
	for i, w := range list {
		out[i] = func() *Node { return b.node(w) }
	}
	return out
}

// folded returns entries for the shown children of w. A group has the place of its first member.
func (b *builder) folded(w *twig) []entry {
	byLikeness := map[string][]*twig{}
	for _, c := range w.mine {
		byLikeness[c.alike] = append(byLikeness[c.alike], c)
	}
	var out []entry
	for _, c := range w.mine {
		alike := byLikeness[c.alike]
		switch {
		case len(alike) < GroupFrom:
			out = append(out, func() *Node { return b.node(c) })
		case alike[0] == c:
			out = append(out, func() *Node { return b.group(w, alike) })
		}
	}
	return out
}

// group returns the node of a group.
func (b *builder) group(of *twig, list []*twig) *Node {
	b.nodes++
	out := &Node{Group: groupOf(list, b.now)}
	out.Group.Key = Key{list: members, of: idOf(of), alike: hash(list[0].alike)}
	for _, w := range list {
		out.Spans += w.spans
	}
	return out
}
