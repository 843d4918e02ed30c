// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"bytes"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Late returns the spans that arrived after their finished trace was returned. Each is returned
// once. In mode Link there are none; such spans pass.
func (s *Stitcher) Late() []*span.Trace {
	s.resolver.settle()
	var out []*span.Trace
	for c := range s.traces.late {
		j := s.joiner.joint(c, &span.Trace{ID: c.id})
		was := c.size()
		if len(j.members) > 0 && s.opts.Mode != Link {
			out = append(out, &span.Trace{ID: c.id, Spans: span.TreeOrder(j.joined())})
		}
		s.joiner.handOut(j, &s.stats.Late)
		s.endings.index += c.size() - was
	}
	clear(s.traces.late)
	slices.SortFunc(out, func(a, b *span.Trace) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	s.resolver.settle() // their waiting children are joined now, and returned by the next call
	return out
}

// Amend adds spans of ours to a finished trace. Foreign spans for them are joined, earlier or later
// ones.
func (s *Stitcher) Amend(t *span.Trace) {
	c := s.traces.changes[t.ID]
	if c == nil || !c.done {
		return
	}
	was := c.size()
	s.traces.amend(c, t)
	s.endings.index += c.size() - was
}

// Forget removes a trace that no longer exists. The spans joined to it wait again.
func (s *Stitcher) Forget(id trace.TraceID) {
	if c := s.traces.changes[id]; c != nil && !c.done {
		s.traces.forget(c)
	}
}
