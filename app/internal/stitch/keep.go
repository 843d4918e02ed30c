// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// What a Stitcher holds is gone when its process dies. Where Options.Kept is set,
// its caller keeps a copy of it elsewhere, in places that it numbers from 1: Fresh
// tells what to keep, and Left what need not be kept any more. After a crash the
// copies are accepted again.

// Left names a span that is held no more, and where its copy was put.
type Left struct {
	Trace trace.TraceID
	Span  trace.SpanID
	Place uint64
}

// Fresh returns the spans that have come since the last call and are held, but for
// those that will hardly belong to a change. Their copies are put into place.
func (s *Stitcher) Fresh(place uint64) []*span.Span {
	var out []*span.Span
	for _, n := range s.fresh {
		if n.gone || n.kept != 0 || n.weak || n.top().weak {
			continue
		}
		n.kept = place
		out = append(out, n.span)
	}
	clear(s.fresh)
	s.fresh = s.fresh[:0]
	return out
}

// Left returns the spans of which copies are kept that went since the last call:
// with their traces, on their own, or since they turned out to be nobody's.
func (s *Stitcher) Left() []Left {
	out := s.left
	s.left = nil
	return out
}

// Lost has Fresh return all that is held: the copies are gone.
func (s *Stitcher) Lost() {
	s.fresh, s.left = s.fresh[:0], nil
	for _, n := range s.nodes {
		n.kept = 0
		s.fresh = append(s.fresh, n)
	}
}

// Leave lets go of the spans whose copies are in places from first on, uncounted:
// somebody else will take them in.
func (s *Stitcher) Leave(first uint64) {
	for _, n := range s.nodes {
		if n.kept >= first && n.kept != 0 {
			n.kept = 0
			s.release(n)
		}
	}
	s.settle()
}

// keep notes a span that has come.
func (s *Stitcher) keep(n *node) {
	if s.opts.Kept {
		s.fresh = append(s.fresh, n)
	}
}

// unkeep notes a span that goes.
func (s *Stitcher) unkeep(n *node) {
	if n.kept != 0 {
		s.left = append(s.left, Left{Trace: n.key.trace, Span: n.key.span, Place: n.kept})
	}
}
