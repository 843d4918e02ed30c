// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// A trace takes spans for a bounded time. Without the bound, any local process could add spans to a
// trace of last week. Components retry for minutes, and a Collector for the time of an outage.

const (
	// margin is how far from its trace a span may lie. Clocks of hosts differ, and a trace takes
	// spans for an hour after it was handed out.
	margin = time.Hour
	// maxClosed is how many closed traces each half of the set remembers.
	maxClosed = 1 << 16
)

// traceSet is a set of traces. It forgets the older half when it is full.
type traceSet struct {
	// most is how many traces each half holds.
	most          int
	recent, older map[trace.TraceID]struct{}
}

func newTraceSet(most int) traceSet {
	return traceSet{most: most, recent: map[trace.TraceID]struct{}{}, older: map[trace.TraceID]struct{}{}}
}

func (s *traceSet) add(id trace.TraceID) {
	if len(s.recent) >= s.most {
		s.recent, s.older = s.older, s.recent
		clear(s.recent)
	}
	s.recent[id] = struct{}{}
}

func (s *traceSet) has(id trace.TraceID) bool {
	if _, there := s.recent[id]; there {
		return true
	}
	_, there := s.older[id]
	return there
}

// close forgets the finished traces whose time is over. Spans that name one of them are refused
// from now on. A trace that began outside stays open to others: its ID is not ours.
func (s *Stitcher) close(now time.Time) {
	over := 0
	for over < len(s.finished) && now.Sub(s.finished[over].handed) > s.opts.Keep {
		c := s.finished[over]
		s.forgetFinished(c)
		if !c.outside {
			s.closed.add(c.id)
		}
		over++
	}
	s.finished = slices.Delete(s.finished, 0, over)
}

// span learns when the trace was, and whether it began outside. It reports whether the trace
// starts at another time than before.
func (c *change) span(t *span.Trace) bool {
	was := c.from
	c.from, c.outside = time.Time{}, false
	for _, own := range t.Spans {
		if c.from.IsZero() || own.Start.Before(c.from) {
			c.from = own.Start.Time
		}
		c.outside = c.outside || own.RemoteParent
	}
	return !c.from.Equal(was)
}

// near reports whether a span's time is that of the trace, give or take the margin. A span that
// overlaps the trace is near, however long it is.
func (c *change) near(s *span.Span) bool {
	return !s.End.Before(c.from.Add(-margin)) && (c.handed.IsZero() || !s.Start.After(c.handed.Add(margin)))
}

// touchAll marks everything that may belong to c as to be resolved again.
func (s *Stitcher) touchAll(c *change) {
	if g := s.groups[c.id]; g != nil {
		g.each(s.touch)
	}
	for id := range c.keys {
		s.touchBelow(key{c.id, id})
	}
	for id := range c.audits {
		s.entries[identity{byAudit, id}].nodes.each(s.touch)
	}
	for _, st := range c.stays {
		s.touchPod(s.entries[identity{byPod, st.pod}])
	}
}

// refuse takes out of a bundle the spans that name a trace of ours and may not join it, and returns
// the others.
func (s *Stitcher) refuse(bundle []*node) []*node {
	var others, refused []*node
	for _, n := range bundle {
		switch c := s.changes[n.key.trace]; {
		case c != nil && !c.outside:
			s.stats.Untimely++
		case c == nil && s.closed.has(n.key.trace):
			s.stats.Overdue++
		default:
			others = append(others, n)
			continue
		}
		refused = append(refused, n)
	}
	for _, n := range refused {
		s.release(n)
	}
	return others
}
