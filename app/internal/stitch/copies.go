// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// A Stitcher's spans are lost when its process dies. With Options.Kept, its caller stores copies
// elsewhere, in places numbered from 1. Fresh returns the spans to store, and Left those to delete.
// After a crash the caller accepts the copies again.

// Left identifies a span that has left the Stitcher, and the place of its copy.
type Left struct {
	Trace trace.TraceID
	Span  trace.SpanID
	Place uint64
}

// copies records the spans whose copies are to be stored or deleted.
type copies struct {
	// kept is Options.Kept.
	kept bool
	// fresh and left are the results of Fresh and Left.
	fresh []*node
	left  []Left
}

// add records a span without a copy.
func (c *copies) add(n *node) {
	if c.kept {
		c.fresh = append(c.fresh, n)
	}
}

// repeat makes Fresh return a span again.
func (c *copies) repeat(n *node) {
	n.kept = 0
	c.fresh = append(c.fresh, n)
}

// remove records the end of a span.
func (c *copies) remove(n *node) {
	if n.kept != 0 {
		c.left = append(c.left, Left{Trace: n.key.trace, Span: n.key.span, Place: n.kept})
	}
}

// Fresh returns the spans held since the last call. Those unlikely to belong to a change are left out
// until they are joined to one. The caller stores their copies at place.
func (s *Stitcher) Fresh(place uint64) []*span.Span {
	c := &s.buffer.copies
	var out []*span.Span
	for _, n := range c.fresh {
		if n.gone || n.kept != 0 || n.home.change == nil && n.minor() {
			continue
		}
		n.kept = place
		out = append(out, n.span)
	}
	clear(c.fresh)
	c.fresh = c.fresh[:0]
	return out
}

// Left returns the spans with a copy that left since the last call: with their traces, passed on or
// dropped.
func (s *Stitcher) Left() []Left {
	out := s.buffer.copies.left
	s.buffer.copies.left = nil
	return out
}

// Again makes Fresh return the spans again that have copies at places up to last, so that the caller
// can delete those places.
func (s *Stitcher) Again(last uint64) {
	for _, n := range s.buffer.forest.nodes {
		if n.kept != 0 && n.kept <= last {
			s.buffer.copies.repeat(n)
		}
	}
}

// Lost declares all copies lost, so that Fresh returns all held spans again.
func (s *Stitcher) Lost() {
	c := &s.buffer.copies
	c.fresh, c.left = c.fresh[:0], nil
	for _, n := range s.buffer.forest.nodes {
		c.repeat(n)
	}
}

// Leave removes the spans with copies at places from first on, without counting them: another
// process accepts them.
func (s *Stitcher) Leave(first uint64) {
	for _, n := range s.buffer.forest.nodes {
		if n.kept >= first && n.kept != 0 {
			n.kept = 0
			s.buffer.remove(n)
		}
	}
	s.resolver.settle()
}

// minor reports whether the span is unlikely to belong to a change.
func (n *node) minor() bool { return n.weak || n.top().weak }
