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

// Fresh returns the spans held since the last call. Those unlikely to belong to a change are left out
// until they are joined to one. The caller stores their copies at place.
func (s *Stitcher) Fresh(place uint64) []*span.Span {
	var out []*span.Span
	for _, n := range s.fresh {
		if n.gone || n.kept != 0 || n.home.change == nil && n.minor() {
			continue
		}
		n.kept = place
		out = append(out, n.span)
	}
	clear(s.fresh)
	s.fresh = s.fresh[:0]
	return out
}

// Left returns the spans with a copy that left since the last call: with their traces, passed on or
// dropped.
func (s *Stitcher) Left() []Left {
	out := s.left
	s.left = nil
	return out
}

// Again makes Fresh return the spans again that have copies at places up to last, so that the caller
// can delete those places.
func (s *Stitcher) Again(last uint64) {
	for _, n := range s.nodes {
		if n.kept != 0 && n.kept <= last {
			n.kept = 0
			s.fresh = append(s.fresh, n)
		}
	}
}

// Lost declares all copies lost, so that Fresh returns all held spans again.
func (s *Stitcher) Lost() {
	s.fresh, s.left = s.fresh[:0], nil
	for _, n := range s.nodes {
		n.kept = 0
		s.fresh = append(s.fresh, n)
	}
}

// Leave removes the spans with copies at places from first on, without counting them: another
// process accepts them.
func (s *Stitcher) Leave(first uint64) {
	for _, n := range s.nodes {
		if n.kept >= first && n.kept != 0 {
			n.kept = 0
			s.release(n)
		}
	}
	s.settle()
}

// keep records a new span.
func (s *Stitcher) keep(n *node) {
	if s.opts.Kept {
		s.fresh = append(s.fresh, n)
	}
}

// minor reports whether the span is unlikely to belong to a change.
func (n *node) minor() bool { return n.weak || n.top().weak }

// unkeep records the end of a span.
func (s *Stitcher) unkeep(n *node) {
	if n.kept != 0 {
		s.left = append(s.left, Left{Trace: n.key.trace, Span: n.key.span, Place: n.kept})
	}
}
