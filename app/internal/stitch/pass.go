// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"bytes"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// passing lets spans go that have no home: it passes them on or drops them.
type passing struct {
	opts   *Options
	stats  *Stats
	buffer *buffer
	traces *traces
	// spans are to be returned; bytes counts towards the bound.
	spans []*span.Span
	bytes int
}

// letGo removes the bundle of n from the buffer, and passes it on or counts it.
func (p *passing) letGo(n *node, dropped *int64) {
	bundle := p.refuse(p.buffer.forest.bundle(n))
	switch {
	case len(bundle) == 0:
	case isMinor(bundle):
		p.stats.Noise += int64(len(bundle))
	case p.opts.Drop || len(p.spans)+len(bundle) > p.opts.MaxSpans/4 || p.bytes > p.opts.MaxBytes/4:
		*dropped += int64(len(bundle))
	default:
		p.stats.Passed += int64(len(bundle))
		for i, out := range p.whole(bundle) {
			p.queue(out, int(bundle[i].size))
			if n := bundle[i]; n.above == nil && n.up != (key{}) {
				p.buffer.streams.started.add(n.key.trace)
			}
		}
	}
	for _, n := range bundle {
		p.buffer.remove(n)
	}
}

// refuse removes spans with the ID of a trace of ours that they may not join. It returns the
// others.
func (p *passing) refuse(bundle []*node) []*node {
	var others, refused []*node
	for _, n := range bundle {
		switch c := p.traces.changes[n.key.trace]; {
		case c != nil && !c.outside:
			p.stats.Untimely++
		case c == nil && p.traces.closed.has(n.key.trace):
			p.stats.Overdue++
		default:
			others = append(others, n)
			continue
		}
		refused = append(refused, n)
	}
	for _, n := range refused {
		p.buffer.remove(n)
	}
	return others
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
func (p *passing) whole(bundle []*node) []*span.Span {
	out := make([]*span.Span, len(bundle))
	var tops map[*node]*node
	var of map[*node]*entry
	if p.opts.Mode != Link {
		tops = climb(bundle, func(*node) bool { return true })
		of = p.podsOf(bundle, tops)
	}
	for i, n := range bundle {
		out[i] = n.span
		if p.opts.Mode == Link {
			continue
		}
		top, link := tops[n], (*span.Link)(nil)
		if n.above == nil {
			link = lastTrace(of[n], n)
		}
		other := p.buffer.streams.linkedTo(n)
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
func (p *passing) podsOf(bundle []*node, tops map[*node]*node) map[*node]*entry {
	ids := &p.buffer.identities
	of, byUID := map[*node]*entry{}, map[*node]bool{}
	for _, n := range bundle {
		top := tops[n]
		if byUID[top] {
			continue
		}
		if uid := ids.podOf(n); uid != "" {
			of[top], byUID[top] = ids.entries[identity{byPod, uid}], true
		} else if of[top] == nil {
			if st, _, _, ok := streamOf(n); ok {
				of[top] = ids.entries[podNamed(st.namespace, st.pod)]
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
func (p *passing) queue(out *span.Span, size int) {
	p.spans = append(p.spans, out)
	p.bytes += size
}

// take returns the passed spans as traces, ordered by ID.
func (p *passing) take() []*span.Trace {
	if len(p.spans) == 0 {
		return nil
	}
	byID := map[trace.TraceID]*span.Trace{}
	var out []*span.Trace
	for _, s := range p.spans {
		t := byID[s.TraceID]
		if t == nil {
			t = &span.Trace{ID: s.TraceID}
			byID[s.TraceID] = t
			out = append(out, t)
		}
		t.Spans = append(t.Spans, s)
	}
	for _, t := range out {
		t.Spans = ordered(t.Spans)
	}
	slices.SortFunc(out, func(a, b *span.Trace) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	p.spans, p.bytes = nil, 0
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
