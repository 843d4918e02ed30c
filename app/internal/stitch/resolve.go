// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// scratch is memory that is used again.
type scratch struct {
	walk, dirty []*node
	claims      map[*node]home
	changes     []*change
}

// settle resolves every tree of which something may have changed.
func (s *Stitcher) settle() {
	for len(s.dirty) > 0 { // what is learned may make more dirty
		batch := s.dirty
		s.dirty = s.scratch.dirty[:0]
		for _, n := range batch {
			if n.dirty && !n.gone {
				s.resolve(n.top())
			}
		}
		clear(batch)
		s.scratch.dirty = batch[:0]
	}
}

// resolve gives every span of a tree its home. The first that applies:
//
//  1. below its parent or caller, if that is a span of ours or has a home;
//  2. at the write whose audit-id it carries, which counts more than the first if
//     the two name different traces;
//  3. at the reconciliation of the Pod that it names by UID, sandbox or container;
//  4. in the trace under whose ID it was made.
//
// What stands above a span for which 2 or 3 holds and belongs to the same request
// has the home in its place (claimants).
func (s *Stitcher) resolve(top *node) {
	s.scratch.walk = walk(top, s.scratch.walk)
	nodes := s.scratch.walk
	clear(s.scratch.claims)
	for _, n := range nodes {
		n.dirty = false
		s.claim(n)
	}
	changes := s.scratch.changes[:0]
	for _, n := range nodes {
		n.home = s.homeOf(n)
		s.enqueue(n)
		if c := n.home.change; c != nil && !slices.Contains(changes, c) {
			changes = append(changes, c)
		}
	}
	s.scratch.changes = changes
	s.register(top, changes)
}

// register notes which changes have a span of the tree.
func (s *Stitcher) register(top *node, changes []*change) {
	for _, c := range top.changes {
		c.stale = true
		if !slices.Contains(changes, c) {
			delete(c.trees, top)
		}
	}
	for _, c := range changes {
		c.stale = true
		c.trees[top] = struct{}{}
		if c.done {
			s.late[c] = struct{}{}
		}
	}
	top.changes = append(top.changes[:0], changes...)
}

// homeOf is n's home, if that is near in time.
func (s *Stitcher) homeOf(n *node) home {
	h := s.placeOf(n)
	if h.change != nil && !h.change.near(n.span) {
		return home{}
	}
	return h
}

func (s *Stitcher) placeOf(n *node) home {
	var h home
	if n.above != nil && n.above.home.change != nil {
		h = home{change: n.above.home.change, below: n.above, evidence: n.edge}
	} else if spot, ours := s.own[n.up]; ours && n.up != (key{}) {
		h = home{change: spot.change, at: spot.id, evidence: parentage(n, spot)}
	}
	claim, claimed := s.scratch.claims[n]
	if claimed && claim.change != nil &&
		(h.change == nil || claim.evidence == span.ByRequest && claim.change != h.change) {
		return claim
	}
	if h.change != nil {
		return h
	}
	if c := s.changes[n.key.trace]; c != nil {
		h = home{change: c, evidence: span.ByAnnotation}
		if n.up != (key{}) {
			h.at = c.root // its parent has not come, or never will
		}
	}
	return h
}

// parentage is how the edge to a span of ours is known that n names as its
// parent: a request carried the context, or an object.
func parentage(n *node, at spot) span.Evidence {
	switch {
	case at.given && n.edge == "", n.edge == span.ByTime:
		return n.edge
	case kind(n.span) == trace.SpanKindServer:
		return span.ByRequest
	}
	return span.ByAnnotation
}

// claim notes the home that n has by what it names.
func (s *Stitcher) claim(n *node) {
	switch n.identity.kind {
	case byAudit:
		if w, ok := s.writeOf(n); ok {
			s.dispute(claimant(n), home{change: w.change, at: w.at, evidence: span.ByRequest})
		}
	case byPod, byContainer:
		pod := s.teach(n)
		if pod == "" {
			return
		}
		root := claimant(n)
		if root.above != nil || root.up != (key{}) {
			return // it follows its parent, once that comes
		}
		if st, ok := s.stayOf(n, pod); ok {
			s.dispute(root, home{change: st.change, at: st.at, evidence: span.ByIdentity})
		}
	}
}

// dispute notes a claim. Where two differ, a request counts more than a Pod, and
// of equals none counts.
func (s *Stitcher) dispute(n *node, h home) {
	switch was, known := s.scratch.claims[n]; {
	case !known, h.evidence == span.ByRequest && was.evidence != span.ByRequest:
		s.scratch.claims[n] = h
	case was.evidence == h.evidence && (was.change != h.change || was.at != h.at):
		s.scratch.claims[n] = home{evidence: h.evidence}
	}
}

// claimant is the topmost span of the request that n is part of: what the same
// process has above it, and the call that it answers.
func claimant(n *node) *node {
	for range maxDepth {
		switch {
		case n.above == nil:
			return n
		case isCall(n.above.span, n.span):
			return n.above
		case n.above.instance != n.instance || n.edge != "" || n.above.identity.kind == byAudit:
			return n
		}
		n = n.above
	}
	return n
}

// writeOf returns our write whose request n is, by audit-id. An ID joins nothing
// that names writes of two traces, or two requests: a client may choose it. An API
// server that hands a request on to another hands on the ID, too; there the outer
// request stands for both.
func (s *Stitcher) writeOf(n *node) (written, bool) {
	e := s.entries[n.identity]
	if len(e.writes) != 1 || e.nodes.len > maxHops {
		return written{}, false
	}
	outer := true
	e.nodes.each(func(other *node) { outer = outer && other.within(n) })
	return e.writes[0], outer
}

// maxHops is how many API servers hand one request on.
const maxHops = 4

// teach learns whose the sandbox and the container are that n names, from n or
// from the work on a Pod that it is part of, and returns that Pod.
func (s *Stitcher) teach(n *node) string {
	pod, up := n.pod, n.above
	for range maxDepth {
		if up == nil || pod != "" {
			break
		}
		if syncs(up.span.Name) {
			pod = up.pod
		}
		up = up.above
	}
	if pod == "" {
		pod = s.podOf(n)
	}
	if pod == "" {
		return ""
	}
	for _, id := range ids(n.span) {
		if id != "" && s.learn(id, pod) {
			s.entries[identity{byContainer, id}].nodes.each(s.touch)
		}
	}
	return pod
}
