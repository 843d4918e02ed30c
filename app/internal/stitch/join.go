// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Join returns t with every foreign span that belongs to it. Better times from these spans replace
// ours (rule T). In mode Link the foreign spans stay outside, and our spans link to them. Join does
// not change t, and returns t itself if there is nothing to join. The caller must not change the
// result, because Join returns it again until something changes.
//
// After a call with finished, Late returns the further spans of the trace.
func (s *Stitcher) Join(t *span.Trace, finished bool, now time.Time) *span.Trace {
	c := s.traces.know(t, now)
	if c.done {
		return t
	}
	s.resolver.settle()
	out, j := t, (*joint)(nil)
	switch {
	case len(c.trees) == 0:
		c.joined = nil
	case !c.stale && !finished && c.joined != nil:
		return c.joined
	default:
		j = s.joiner.joint(c, t)
		out = j.trace()
		c.joined = out
	}
	c.stale = false
	if finished {
		s.conclude(c, j, now)
	}
	return out
}

// conclude keeps of a finished trace only the data needed to join late spans.
func (s *Stitcher) conclude(c *change, j *joint, now time.Time) {
	c.done, c.handed, c.joined = true, now, nil
	if j != nil {
		c.clock = j.clock
		s.joiner.handOut(j, &s.stats.Joined)
	}
	delete(s.traces.open, c)
	s.endings.add(c)
}

// joiner makes traces with their foreign spans, and lets these go.
type joiner struct {
	opts    *Options
	stats   *Stats
	buffer  *buffer
	traces  *traces
	passing *passing
}

// handOut removes joined spans from the buffer.
func (o *joiner) handOut(j *joint, count *int64) {
	c := j.change
	if len(j.clock) > 0 {
		for _, n := range j.members {
			if j.clock.of(n) != 0 {
				o.stats.Corrected++
			}
		}
	}
	o.stats.Collisions += int64(len(j.ids))
	for _, n := range j.members {
		o.traces.own[n.key] = spot{change: c, id: j.idOf(n), given: true}
		c.given = append(c.given, n.key)
		*count++
		o.buffer.remove(n)
		o.buffer.forest.touchOrphans(n.key)
		if o.opts.Mode == Link {
			o.passing.queue(n.span, int(n.size))
		}
	}
	for _, n := range j.surplus {
		o.stats.Surplus++
		o.buffer.remove(n)
	}
}

// joint is one trace of ours with its foreign spans.
type joint struct {
	mode   Mode
	change *change
	of     *span.Trace
	// held are the spans of the buffer.
	held map[key]*node
	// members are the foreign spans, by key. surplus are those above MaxPerTrace (surplus.go).
	members, surplus []*node
	// ids are the new IDs of members whose ID is already taken.
	ids   map[*node]trace.SpanID
	clock corrections
}

func (o *joiner) joint(c *change, t *span.Trace) *joint {
	j := &joint{mode: o.opts.Mode, change: c, of: t, held: o.buffer.forest.nodes}
	for top := range c.trees {
		for _, n := range walk(top, nil) {
			if n.home.change == c {
				j.members = append(j.members, n)
			}
		}
	}
	if most := max(0, o.opts.MaxPerTrace-len(c.given)); len(j.members) > most {
		j.members, j.surplus = leaveOut(j.members, most)
	}
	slices.SortFunc(j.members, compareKeys)
	j.name(o.traces.own)
	if c.done {
		j.clock = c.clock
	} else {
		by := causes{change: c, own: o.traces.own, identities: &o.buffer.identities}
		j.clock = correct(j.members, t, by, o.opts.MaxSkew)
	}
	return j
}

func compareKeys(a, b *node) int {
	return cmp.Or(bytes.Compare(a.key.trace[:], b.key.trace[:]), bytes.Compare(a.key.span[:], b.key.span[:]))
}

// name derives an ID for each member whose ID is taken: by a span of ours, or by a member from a
// trace with a lower ID.
func (j *joint) name(own map[key]spot) {
	used := make(map[trace.SpanID]bool, len(j.members))
	for _, k := range j.change.given {
		used[own[k].id] = true
	}
	for _, n := range j.members {
		id := n.key.span
		if _, ours := j.change.keys[id]; ours || used[id] {
			id = span.DeriveID(j.change.id, "joined", string(n.key.trace[:]), string(n.key.span[:]))
			if j.ids == nil {
				j.ids = map[*node]trace.SpanID{}
			}
			j.ids[n] = id
		}
		used[id] = true
	}
}

func (j *joint) idOf(n *node) trace.SpanID {
	if id, other := j.ids[n]; other {
		return id
	}
	return n.key.span
}

// trace returns the joined trace.
func (j *joint) trace() *span.Trace {
	out := *j.of
	own := timing{change: j.change, members: j.members, clock: j.clock}.improve(j.of.Spans)
	if j.mode == Link {
		out.Spans = j.linked(own)
		return &out
	}
	out.Spans = span.TreeOrder(append(j.unlinked(j.adopt(own)), j.joined()...))
	return &out
}

// joined returns the members in their joined form.
func (j *joint) joined() []*span.Span {
	in := make(map[*node]bool, len(j.members))
	for _, n := range j.members {
		in[n] = true
	}
	copies := make([]span.Span, len(j.members))
	out := make([]*span.Span, len(j.members))
	for i, n := range j.members {
		s := &copies[i]
		*s = *n.span
		s.TraceID, s.ID, s.Parent, s.RemoteParent = j.change.id, j.idOf(n), n.home.at, false
		switch below := n.home.below; {
		case below == nil:
		case in[below]:
			s.Parent = j.idOf(below)
		default:
			s.Parent = j.change.root // its parent was surplus
		}
		s.Evidence = n.home.evidence
		s.Origin = origin(n.span)
		s.Attributes = j.mark(n)
		if by := j.clock.of(n); by != 0 {
			shift(s, by)
		}
		out[i] = s
	}
	return out
}

// origin returns the Origin of s with the original IDs.
func origin(s *span.Span) *span.Origin {
	if s.Origin.TraceID == s.TraceID && s.Origin.Parent == s.Parent {
		return s.Origin
	}
	o := *s.Origin
	o.TraceID, o.Parent = s.TraceID, s.Parent
	return &o
}

// mark returns n's attributes, plus those for a new ID or a corrected clock.
func (j *joint) mark(n *node) []attribute.KeyValue {
	attrs := slices.Clip(n.span.Attributes)
	if id := j.idOf(n); id != n.key.span {
		attrs = append(attrs, span.KeyOriginSpan.String(n.key.span.String()))
	}
	if by := j.clock.of(n); by != 0 {
		attrs = append(attrs, span.KeyCorrection.Float64(by.Seconds()))
	}
	return attrs
}

func shift(s *span.Span, by time.Duration) {
	s.Start.Time = s.Start.Add(by)
	if !s.Open() {
		s.End.Time = s.End.Add(by)
	}
	events := slices.Clone(s.Events)
	for i := range events {
		if !events[i].Time.IsZero() {
			events[i].Time = events[i].Time.Add(by)
		}
	}
	s.Events = events
}

// adopt replaces an outside parent of our spans by the joined parent. If that parent is below the
// span itself, the span becomes a root: an operator's webhook may create an object's context within
// the request of that span.
func (j *joint) adopt(own []*span.Span) []*span.Span {
	for i, s := range own {
		if !s.RemoteParent {
			continue
		}
		n := j.held[key{j.change.id, s.Parent}]
		if n == nil || n.home.change != j.change || j.idOf(n) != s.Parent {
			continue
		}
		adopted := *s
		adopted.RemoteParent = false
		if j.below(n, s) {
			adopted.Parent = trace.SpanID{}
		}
		own[i] = &adopted
	}
	return own
}

// unlinked returns own without links to the API server's traces that were joined. Their original
// IDs appear nowhere else.
func (j *joint) unlinked(own []*span.Span) []*span.Span {
	joined := make(map[trace.TraceID]bool, len(j.members))
	for _, n := range j.members {
		joined[n.key.trace] = true
	}
	gone := func(l span.Link) bool {
		return joined[l.TraceID] && l.Reason == span.LinkServer
	}
	for i, s := range own {
		if slices.ContainsFunc(s.Links, gone) {
			without := *s
			without.Links = slices.DeleteFunc(slices.Clone(s.Links), gone)
			own[i] = &without
		}
	}
	return own
}

// below reports whether n is a descendant of our span s.
func (j *joint) below(n *node, s *span.Span) bool {
	for n.home.below != nil {
		n = n.home.below
	}
	parents := make(map[trace.SpanID]trace.SpanID, len(j.of.Spans))
	for _, own := range j.of.Spans {
		parents[own.ID] = own.Parent
	}
	at := n.home.at
	for range len(parents) + 1 {
		if at == s.ID {
			return true
		}
		at = parents[at]
	}
	return false
}

// linkJoined is the reason of a link from our span to a foreign span that stays in its
// trace.
const linkJoined = "joined"

// linked returns own with links to the roots of the joined spans.
func (j *joint) linked(own []*span.Span) []*span.Span {
	links := map[trace.SpanID][]span.Link{}
	for _, n := range j.members {
		if n.home.below == nil {
			links[n.home.at] = append(links[n.home.at], span.Link{
				TraceID: n.key.trace, SpanID: n.key.span, Reason: linkJoined, Evidence: n.home.evidence,
			})
		}
	}
	for i, s := range own {
		if more := links[s.ID]; more != nil {
			with := *s
			with.Links = append(slices.Clip(s.Links), more...)
			own[i] = &with
		}
	}
	return own
}
