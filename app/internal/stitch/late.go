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
	s.settle()
	var out []*span.Trace
	for c := range s.late {
		j := s.joint(c, &span.Trace{ID: c.id})
		was := c.size()
		if len(j.members) > 0 && s.opts.Mode != Link {
			out = append(out, &span.Trace{ID: c.id, Spans: span.TreeOrder(j.joined())})
		}
		s.handOut(j, &s.stats.Late)
		s.index += c.size() - was
	}
	clear(s.late)
	slices.SortFunc(out, func(a, b *span.Trace) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	s.settle() // their waiting children are joined now, and returned by the next call
	return out
}

// Amend adds spans of ours to a finished trace. Foreign spans for them are joined, earlier or later
// ones.
func (s *Stitcher) Amend(t *span.Trace) {
	c := s.changes[t.ID]
	if c == nil || !c.done {
		return
	}
	was := c.size()
	for _, own := range t.Spans {
		if _, known := c.keys[own.ID]; !known {
			c.keys[own.ID] = c.version
			s.own[key{t.ID, own.ID}] = spot{change: c, id: own.ID}
			s.touchBelow(key{t.ID, own.ID})
		}
	}
	s.addWrites(c, auditsOf(t))
	s.index += c.size() - was
}

// Forget removes a trace that no longer exists. The spans joined to it wait again.
func (s *Stitcher) Forget(id trace.TraceID) {
	if c := s.changes[id]; c != nil && !c.done {
		s.forget(c)
	}
}

// forgetOldest removes the trace that was finished first.
func (s *Stitcher) forgetOldest() {
	s.forgetFinished(s.finished[0])
	s.finished = slices.Delete(s.finished, 0, 1)
}

func (s *Stitcher) forgetFinished(c *change) {
	s.index -= c.size()
	delete(s.late, c)
	s.forget(c)
}
