// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"bytes"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Expire ends the wait of spans older than the window. Reads and similar requests are dropped as
// noise. Other spans are returned in their original traces, unless the options drop them (rule X4).
// In mode Link, joined spans are returned as well. Expire also forgets open traces without a Join
// for the window, and closes finished traces after Options.Keep.
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

// makeRoom removes the oldest spans until the rest is within the bounds: first weak spans, then
// waiting ones, then those with a home.
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

// bundle returns the spans without a home in n's tree and in the traces of that tree. They leave
// together.
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

// letGo removes a bundle from the forest, and passes it on or counts it.
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

// isMinor reports whether all outermost requests of a bundle are reads or similar.
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

// climb maps each span of a bundle, and its parent, to the first ancestor for which on is false, or
// to the top. It takes each step once, because trees may be deep.
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

// whole returns a bundle for output. In mode Rewrite the parts of a request that only links or
// answers connect become one trace. An example is an exec from the API server through the kubelet
// to the container runtime. Work on a Pod outside a change gets a link to the Pod's last trace.
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

// podsOf maps the top of each tree in a bundle to its Pod, if known. A UID takes precedence over a
// name.
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

// linkPod is the reason of a link to the Pod's last trace.
const linkPod = "pod"

// lastTrace returns the link from the tree of top to the last trace of its Pod; nil if unknown.
func lastTrace(of *entry, top *node) *span.Link {
	if of == nil {
		return nil
	}
	for _, st := range slices.Backward(of.stays) {
		if !st.start.After(top.span.End.Time) {
			return &span.Link{
				TraceID: st.change.id, SpanID: st.at, Reason: linkPod,
			}
		}
	}
	return nil
}

// queue adds a span to the result of Expire.
func (s *Stitcher) queue(out *span.Span, size int) {
	s.passed = append(s.passed, out)
	s.passedBytes += size
}

// takePassed returns the passed spans as traces, ordered by ID.
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

// ordered is TreeOrder without changes to cycles: passed spans stay as received.
func ordered(spans []*span.Span) []*span.Span {
	parents := make(map[trace.SpanID]trace.SpanID, len(spans))
	for _, s := range spans {
		parents[s.ID] = s.Parent
	}
	met := make(map[trace.SpanID]int, len(spans)) // the span that the walk started from
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
