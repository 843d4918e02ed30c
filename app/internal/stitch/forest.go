// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// forest holds all spans, each below its parent or caller.
type forest struct {
	nodes map[key]*node
	// orphans are the spans whose parent is missing, by the parent's key.
	orphans map[key]*node
	// groups are the spans of each original trace.
	groups map[trace.TraceID]*list
	// waiting and weak are the spans without a home, oldest first. A weak span is unlikely to find
	// a home. homed are the others.
	waiting, weak, homed *list
	// dirty are spans whose tree must be resolved again.
	dirty []*node
	bytes int
}

func newForest() forest {
	return forest{
		nodes: map[key]*node{}, orphans: map[key]*node{}, groups: map[trace.TraceID]*list{},
		waiting: &list{hook: hookOfAge}, weak: &list{hook: hookOfAge}, homed: &list{hook: hookOfAge},
	}
}

// maxDepth limits the depth of a tree whose children arrived before their parents; deeper parts are
// cut off. It also bounds the walk of cycles.
const maxDepth = 1024

// plant adds n to the forest.
func (f *forest) plant(n *node) {
	f.nodes[n.key] = n
	f.bytes += int(n.size)
	g := f.groups[n.key.trace]
	if g == nil {
		g = &list{hook: hookOfGroup}
		f.groups[n.key.trace] = g
	}
	g.push(n)
	f.enqueue(n)
	if n.up != (key{}) {
		if above := f.nodes[n.up]; above != nil && f.mayBeBelow(n, above) {
			f.below(above, n)
		} else if above == nil {
			f.wait(n)
		}
	}
	for o := f.orphans[n.key]; o != nil; {
		next := o.next
		o.next, o.prev = nil, nil
		f.below(n, o)
		o = next
	}
	delete(f.orphans, n.key)
	f.touch(n)
}

// mayBeBelow reports whether adding n below above makes no cycle: a span that waits for n may be an
// ancestor of above.
func (f *forest) mayBeBelow(n, above *node) bool {
	if f.orphans[n.key] == nil && above != n {
		return true
	}
	for range maxDepth {
		if above == n || above.up == n.key {
			return false
		}
		if above.above == nil {
			return true
		}
		above = above.above
	}
	return false
}

func (f *forest) below(above, n *node) {
	n.above = above
	n.next, n.prev = above.first, nil
	if above.first != nil {
		above.first.prev = n
	}
	above.first = n
	f.disown(n)
	f.touch(n)
}

// wait adds n to the spans that wait for the same parent.
func (f *forest) wait(n *node) {
	head := f.orphans[n.up]
	n.next, n.prev = head, nil
	if head != nil {
		head.prev = n
	}
	f.orphans[n.up] = n
}

// disown clears the changes of a tree's top.
func (f *forest) disown(n *node) {
	for _, c := range n.changes {
		c.leave(n)
	}
	n.changes = nil
}

// uproot removes n from the forest. Its children wait for it again.
func (f *forest) uproot(n *node) {
	n.gone = true
	f.disown(n)
	switch {
	case n.prev != nil:
		n.prev.next = n.next
	case n.above != nil:
		n.above.first = n.next
	case f.orphans[n.up] == n:
		if n.next == nil {
			delete(f.orphans, n.up)
		} else {
			f.orphans[n.up] = n.next
		}
	}
	if n.next != nil {
		n.next.prev = n.prev
	}
	if n.above != nil {
		f.touch(n.above)
	}
	n.above, n.next, n.prev = nil, nil, nil
	for c := n.first; c != nil; {
		next := c.next
		c.above = nil
		f.wait(c)
		f.touch(c)
		c = next
	}
	n.first = nil
	delete(f.nodes, n.key)
	f.bytes -= int(n.size)
	g := f.groups[n.key.trace]
	g.remove(n)
	if g.len == 0 {
		delete(f.groups, n.key.trace)
	}
	n.queue.remove(n)
	n.queue = nil
}

// move puts an answer below another span; the zero key means none.
func (f *forest) move(a *node, up key) {
	f.uproot(a)
	a.gone, a.home = false, home{}
	a.up, a.edge = up, ""
	if up != (key{}) {
		a.edge = span.ByTime
	}
	f.plant(a)
}

// enqueue moves n to its queue.
func (f *forest) enqueue(n *node) {
	to := f.waiting
	switch {
	case n.home.change != nil:
		to = f.homed
	case n.weak:
		to = f.weak
	}
	if n.queue == to {
		return
	}
	if n.queue != nil {
		n.queue.remove(n)
	}
	n.queue = to
	to.push(n)
}

// touch marks the tree of n to be resolved again.
func (f *forest) touch(n *node) {
	if !n.dirty {
		n.dirty = true
		f.dirty = append(f.dirty, n)
	}
}

// touchOrphans marks all spans that wait for k to be resolved again.
func (f *forest) touchOrphans(k key) {
	for o := f.orphans[k]; o != nil; o = o.next {
		f.touch(o)
	}
}

// touchBelow marks k and all spans with parent k to be resolved again.
func (f *forest) touchBelow(k key) {
	f.touchOrphans(k)
	if n := f.nodes[k]; n != nil {
		f.touch(n)
	}
}

// bundle returns the spans without a home in n's tree and in the traces of that tree. They leave
// together.
func (f *forest) bundle(n *node) []*node {
	var out []*node
	in := map[*node]bool{}
	add := func(n *node) {
		if n.home.change == nil && !in[n] {
			in[n] = true
			out = append(out, n)
		}
	}
	for _, n := range walk(n.top(), nil) {
		add(n)
	}
	seen := map[trace.TraceID]bool{}
	for _, n := range slices.Clone(out) {
		if !seen[n.key.trace] {
			seen[n.key.trace] = true
			f.groups[n.key.trace].each(add)
		}
	}
	return out
}

// walk returns top and its descendants, parents first. It reuses the memory of into.
func walk(top *node, into []*node) []*node {
	into = append(into[:0], top)
	for i := 0; i < len(into); i++ {
		for c := into[i].first; c != nil; c = c.next {
			into = append(into, c)
		}
	}
	return into
}
