// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// A trace accepts spans for a bounded time. Without the bound, any local process could add spans to
// a trace of last week. Components retry for minutes, and a Collector for the time of an outage.

const (
	// margin is the greatest distance of a span from its trace in time. Clocks of hosts differ, and
	// a trace accepts spans for an hour after its return.
	margin = time.Hour
	// maxClosed limits the closed traces in each half of the set.
	maxClosed = 1 << 16
)

// traceSet is a set of traces. It drops the older half when it is full.
type traceSet struct {
	// most limits the traces in each half.
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

// close removes the finished traces older than Options.Keep. Later spans with such a trace's ID are
// refused. A trace with a parent outside still passes spans, because others share its ID.
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

// span sets the trace's start, and whether it has a parent outside. It reports whether the start
// changed.
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

// near reports whether a span's time is within the margin of the trace's time. A span that overlaps
// the trace is near at any length.
func (c *change) near(s *span.Span) bool {
	return !s.End.Before(c.from.Add(-margin)) && (c.handed.IsZero() || !s.Start.After(c.handed.Add(margin)))
}

// touchAll marks all spans that may belong to c to be resolved again.
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

// refuse removes spans with the ID of a trace of ours that they may not join. It returns the
// others.
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
