// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// scratch is reused memory.
type scratch struct {
	walk, dirty []*node
	claims      map[*node]home
	changes     []*change
}

// settle resolves every tree with possible changes.
func (s *Stitcher) settle() {
	for len(s.dirty) > 0 { // resolving may mark more spans
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

// resolve assigns a home to every span of a tree. The first that applies:
//
//  1. below its parent or caller, if that is a span of ours or has a home;
//  2. at the write with its audit-id. This wins over 1 if the two are in different traces;
//  3. at the reconciliation of the Pod that it names by UID, sandbox or container;
//  4. in the trace with its original trace ID.
//
// For 2 and 3 the home belongs to the topmost span of the same request (claimant).
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
		c := n.home.change
		if c != nil && n.kept == 0 && n.minor() {
			s.keep(n) // Fresh has left it out
		}
		if c != nil && !slices.Contains(changes, c) {
			changes = append(changes, c)
		}
	}
	s.scratch.changes = changes
	s.register(top, changes)
}

// register records the changes with a span of the tree.
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

// homeOf returns n's home, if that is near in time.
func (s *Stitcher) homeOf(n *node) home {
	h := s.inPhase(n, s.placeOf(n))
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
			h.at = c.root // its parent is missing
		}
	}
	return h
}

// parentage returns the evidence for a parent of ours: a request or an object carried the context.
func parentage(n *node, at spot) span.Evidence {
	switch {
	case at.given && n.edge == "", n.edge == span.ByTime:
		return n.edge
	case kind(n.span) == trace.SpanKindServer:
		return span.ByRequest
	}
	return span.ByAnnotation
}

// claim records n's home by its identity.
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
		if root.above != nil || root.up != (key{}) && !root.span.IsAttempt() && !callsPlugin(root.span) {
			return // its home will be below its parent
		}
		if st, ok := s.stayOf(n, pod); ok {
			s.dispute(root, home{change: st.change, at: st.at, evidence: span.ByIdentity})
		}
	}
}

// dispute records a claim. Of two different claims, a request wins over a Pod; two of the same kind
// cancel each other.
func (s *Stitcher) dispute(n *node, h home) {
	switch was, known := s.scratch.claims[n]; {
	case !known, h.evidence == span.ByRequest && was.evidence != span.ByRequest:
		s.scratch.claims[n] = h
	case was.evidence == h.evidence && (was.change != h.change || was.at != h.at):
		s.scratch.claims[n] = home{evidence: h.evidence}
	}
}

// claimant returns the topmost span of n's request: the ancestors in the same process, and the call
// that it answers.
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

// writeOf returns our write with n's audit-id. An ID of writes in two traces, or of two requests,
// joins nothing, because a client may choose it. An API server that forwards a request forwards its
// ID; then the outer request counts.
func (s *Stitcher) writeOf(n *node) (written, bool) {
	e := s.entries[n.identity]
	if len(e.writes) != 1 || e.nodes.len > maxHops {
		return written{}, false
	}
	outer := true
	e.nodes.each(func(other *node) { outer = outer && other.within(n) })
	return e.writes[0], outer
}

// maxHops limits the API servers that forward one request.
const maxHops = 4

// teach records the Pod of n's sandbox and container, and returns it. The Pod is that of n, or of
// the Pod work above n.
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
