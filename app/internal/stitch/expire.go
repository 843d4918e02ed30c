// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"bytes"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Expire ends the wait of spans that have waited for the window: those of reads
// and the like are noise; others are returned, as traces as they came, unless the
// options drop them (rule X4). So are, in mode Link, those that were joined. It
// also forgets the traces that nobody has joined for the window, and closes the
// finished ones that were handed out long enough ago.
func (s *Stitcher) Expire(now time.Time) []*span.Trace {
	s.close(now)
	for c := range s.open {
		if now.Sub(c.seen) > s.opts.Window {
			s.forget(c)
		}
	}
	s.settle()
	for _, queue := range []*list{s.weak, s.waiting} {
		for queue.head != nil && now.Sub(queue.head.seen) >= s.opts.Window {
			s.letGo(s.bundle(queue.head), &s.stats.Expired)
		}
	}
	s.settle()
	return s.takePassed()
}

// makeRoom lets go of the oldest until what is held is within its bounds: of weak
// spans, then of those that wait, then of those that have a home.
func (s *Stitcher) makeRoom() {
	for len(s.nodes)+len(s.passed) > s.opts.MaxSpans || s.bytes+s.passedBytes > s.opts.MaxBytes {
		switch {
		case s.weak.head != nil:
			s.letGo(s.bundle(s.weak.head), &s.stats.Evicted)
		case s.waiting.head != nil:
			s.letGo(s.bundle(s.waiting.head), &s.stats.Evicted)
		case s.homed.head != nil:
			for _, n := range walk(s.homed.head.top(), nil) {
				s.stats.Evicted++
				s.release(n)
			}
		default:
			s.stats.Evicted += int64(len(s.passed))
			s.passed, s.passedBytes = nil, 0
			return
		}
		s.settle()
	}
}

// bundle is n with the rest of its tree, and of the traces in it, that has no
// home: what is let go of together.
func (s *Stitcher) bundle(n *node) []*node {
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
			s.groups[n.key.trace].each(add)
		}
	}
	return out
}

// letGo takes a bundle out of the forest, and passes it on or counts it.
func (s *Stitcher) letGo(bundle []*node, dropped *int64) {
	bundle = s.refuse(bundle)
	switch {
	case len(bundle) == 0:
	case isMinor(bundle):
		s.stats.Noise += int64(len(bundle))
	case s.opts.Drop || len(s.passed)+len(bundle) > s.opts.MaxSpans/4 || s.passedBytes > s.opts.MaxBytes/4:
		*dropped += int64(len(bundle))
	default:
		s.stats.Passed += int64(len(bundle))
		for i, out := range s.whole(bundle) {
			s.queue(out, int(bundle[i].size))
			if n := bundle[i]; n.above == nil && n.up != (key{}) {
				s.streams.started.add(n.key.trace)
			}
		}
	}
	for _, n := range bundle {
		s.release(n)
	}
}

// isMinor reports whether all requests of a bundle that no other made are reads
// and the like.
func isMinor(bundle []*node) bool {
	minor := len(bundle) == 1 && bundle[0].weak
	inside := climb(bundle, func(n *node) bool { return kind(n.span) == trace.SpanKindInternal })
	for _, n := range bundle {
		switch kind(n.span) {
		case trace.SpanKindServer, trace.SpanKindClient:
		default:
			continue
		}
		if n.above == nil || kind(inside[n.above].span) == trace.SpanKindInternal {
			if !n.weak {
				return false
			}
			minor = true
		}
	}
	return minor
}

// climb says where one comes to who goes up from each of a bundle, or from what is
// above one, for as long as on holds, or to the top. It goes each step once: trees
// may be deep.
func climb(bundle []*node, on func(*node) bool) map[*node]*node {
	to := make(map[*node]*node, len(bundle))
	var path []*node
	for _, n := range bundle {
		for _, at := range []*node{n, n.above} {
			path = path[:0]
			for at != nil && to[at] == nil {
				path = append(path, at)
				if at.above == nil || !on(at) {
					to[at] = at
					break
				}
				at = at.above
			}
			for _, p := range path {
				to[p] = to[at]
			}
		}
	}
	return to
}

// whole is a bundle as it is handed on. In mode Rewrite the parts of one request
// that only links connect, or an answer to it, become one trace: an exec from the API server through
// the kubelet to the container runtime. Work on a Pod that belongs to no change
// links to the Pod's last trace.
func (s *Stitcher) whole(bundle []*node) []*span.Span {
	out := make([]*span.Span, len(bundle))
	var tops map[*node]*node
	var of map[*node]*entry
	if s.opts.Mode != Link {
		tops = climb(bundle, func(*node) bool { return true })
		of = s.podsOf(bundle, tops)
	}
	for i, n := range bundle {
		out[i] = n.span
		if s.opts.Mode == Link {
			continue
		}
		top, link := tops[n], (*span.Link)(nil)
		if n.above == nil {
			link = lastTrace(of[n], n)
		}
		other := s.linkedTo(n)
		if top.key.trace == n.key.trace && link == nil && other == nil {
			continue
		}
		c := *n.span
		c.Origin, c.TraceID = origin(n.span), top.key.trace
		if n.edge != "" && n.above != nil {
			c.Parent, c.Evidence = n.up.span, n.edge
		}
		if link != nil {
			c.Links = append(slices.Clip(c.Links), *link)
		}
		if other != nil {
			c.Links = append(slices.Clip(c.Links), *other)
		}
		out[i] = &c
	}
	return out
}

// podsOf are the Pods that the trees of a bundle are about, by their tops, as far
// as that is known: a Pod that is named by its UID, or else by its name.
func (s *Stitcher) podsOf(bundle []*node, tops map[*node]*node) map[*node]*entry {
	of, byUID := map[*node]*entry{}, map[*node]bool{}
	for _, n := range bundle {
		top := tops[n]
		if byUID[top] {
			continue
		}
		if uid := s.podOf(n); uid != "" {
			of[top], byUID[top] = s.entries[identity{byPod, uid}], true
		} else if of[top] == nil {
			if st, _, _, ok := streamOf(n); ok {
				of[top] = s.entries[podNamed(st.namespace, st.pod)]
			}
		}
	}
	return of
}

// linkPod is said by the link of work on a Pod to the Pod's last trace.
const linkPod = "pod"

// lastTrace is the link from the tree below top to the trace in which the Pod that
// it is about was last reconciled; nil if that is not known.
func lastTrace(of *entry, top *node) *span.Link {
	if of == nil {
		return nil
	}
	for _, st := range slices.Backward(of.stays) {
		if !st.start.After(top.span.End.Time) {
			return &span.Link{
				TraceID: st.change.id, SpanID: st.at, Attributes: []attribute.KeyValue{span.KeyLink.String(linkPod)},
			}
		}
	}
	return nil
}

// queue puts a span among those that Expire returns.
func (s *Stitcher) queue(out *span.Span, size int) {
	s.passed = append(s.passed, out)
	s.passedBytes += size
}

// takePassed returns what passes, as traces in order of their IDs.
func (s *Stitcher) takePassed() []*span.Trace {
	if len(s.passed) == 0 {
		return nil
	}
	byID := map[trace.TraceID]*span.Trace{}
	var out []*span.Trace
	for _, p := range s.passed {
		t := byID[p.TraceID]
		if t == nil {
			t = &span.Trace{ID: p.TraceID}
			byID[p.TraceID] = t
			out = append(out, t)
		}
		t.Spans = append(t.Spans, p)
	}
	for _, t := range out {
		t.Spans = ordered(t.Spans)
	}
	slices.SortFunc(out, func(a, b *span.Trace) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	s.passed, s.passedBytes = nil, 0
	return out
}

// ordered is TreeOrder, but leaves circles as they came: what passes is not
// touched.
func ordered(spans []*span.Span) []*span.Span {
	parents := make(map[trace.SpanID]trace.SpanID, len(spans))
	for _, s := range spans {
		parents[s.ID] = s.Parent
	}
	met := make(map[trace.SpanID]int, len(spans)) // on the way up from which span
	for i, s := range spans {
		for at := s.ID; at.IsValid(); at = parents[at] {
			from, before := met[at]
			if before && from == i {
				return spans
			}
			if before {
				break
			}
			met[at] = i
		}
	}
	return span.TreeOrder(spans)
}
