// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// resolver assigns a home to each span of the buffer.
type resolver struct {
	forest     *forest
	identities *identities
	copies     *copies
	traces     *traces

	// The rest is reused memory.
	walk, dirty []*node
	claims      map[*node]home
	changes     []*change
}

func newResolver(b *buffer, t *traces) resolver {
	return resolver{
		forest: &b.forest, identities: &b.identities, copies: &b.copies, traces: t, claims: map[*node]home{},
	}
}

// settle resolves every tree with possible changes.
func (r *resolver) settle() {
	for len(r.forest.dirty) > 0 { // resolving may mark more spans
		batch := r.forest.dirty
		r.forest.dirty = r.dirty[:0]
		for _, n := range batch {
			if n.dirty && !n.gone {
				r.resolve(n.top())
			}
		}
		clear(batch)
		r.dirty = batch[:0]
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
func (r *resolver) resolve(top *node) {
	r.walk = walk(top, r.walk)
	nodes := r.walk
	clear(r.claims)
	for _, n := range nodes {
		n.dirty = false
		r.claim(n)
	}
	changes := r.changes[:0]
	for _, n := range nodes {
		n.home = r.homeOf(n)
		r.forest.enqueue(n)
		c := n.home.change
		if c != nil && n.kept == 0 && n.minor() {
			r.copies.add(n) // Fresh has left it out
		}
		if c != nil && !slices.Contains(changes, c) {
			changes = append(changes, c)
		}
	}
	r.changes = changes
	r.register(top, changes)
}

// register records the changes with a span of the tree.
func (r *resolver) register(top *node, changes []*change) {
	for _, c := range top.changes {
		c.leave(top)
	}
	for _, c := range changes {
		c.enter(top)
		if c.done {
			r.traces.late[c] = struct{}{}
		}
	}
	top.changes = append(top.changes[:0], changes...)
}

// homeOf returns n's home, if that is near in time.
func (r *resolver) homeOf(n *node) home {
	h := r.inPhase(n, r.placeOf(n))
	if h.change != nil && !h.change.near(n.span) {
		return home{}
	}
	return h
}

func (r *resolver) placeOf(n *node) home {
	var h home
	if n.above != nil && n.above.home.change != nil {
		h = home{change: n.above.home.change, below: n.above, evidence: n.edge}
	} else if spot, ours := r.traces.own[n.up]; ours && n.up != (key{}) {
		h = home{change: spot.change, at: spot.id, evidence: parentage(n, spot)}
	}
	claim, claimed := r.claims[n]
	if claimed && claim.change != nil &&
		(h.change == nil || claim.evidence == span.ByRequest && claim.change != h.change) {
		return claim
	}
	if h.change != nil {
		return h
	}
	if c := r.traces.changes[n.key.trace]; c != nil {
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
func (r *resolver) claim(n *node) {
	switch n.identity.kind {
	case byAudit:
		if w, ok := r.identities.entries[n.identity].writeOf(n); ok {
			r.dispute(claimant(n), home{change: w.change, at: w.at, evidence: span.ByRequest})
		}
	case byPod, byContainer:
		pod := r.teach(n)
		if pod == "" {
			return
		}
		root := claimant(n)
		if root.above != nil || root.up != (key{}) && !root.span.IsAttempt() && !callsPlugin(root.span) {
			return // its home will be below its parent
		}
		if st, ok := r.identities.pod(pod).stayOf(n); ok {
			r.dispute(root, home{change: st.change, at: st.at, evidence: span.ByIdentity})
		}
	}
}

// dispute records a claim. Of two different claims, a request wins over a Pod; two of the same kind
// cancel each other.
func (r *resolver) dispute(n *node, h home) {
	switch was, known := r.claims[n]; {
	case !known, h.evidence == span.ByRequest && was.evidence != span.ByRequest:
		r.claims[n] = h
	case was.evidence == h.evidence && (was.change != h.change || was.at != h.at):
		r.claims[n] = home{evidence: h.evidence}
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

// writeOf returns our write with n's audit-id; the entry is that of the ID. An ID of writes in two
// traces, or of two requests, joins nothing, because a client may choose it. An API server that forwards
// a request forwards its ID; then the outer request counts.
func (e *entry) writeOf(n *node) (written, bool) {
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
func (r *resolver) teach(n *node) string {
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
		pod = r.identities.podOf(n)
	}
	if pod == "" {
		return ""
	}
	for _, id := range ids(n.span) {
		if id != "" && r.identities.learn(id, pod) {
			r.identities.entries[identity{byContainer, id}].nodes.each(r.forest.touch)
		}
	}
	return pod
}
