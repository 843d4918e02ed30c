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

// endings are the finished traces, until they accept no more spans.
type endings struct {
	opts   *Options
	traces *traces
	// finished are the traces, oldest first. index counts their identities.
	finished []*change
	index    int
}

// add adds a trace, and forgets the oldest ones above Options.MaxIndex.
func (e *endings) add(c *change) {
	e.finished = append(e.finished, c)
	e.index += c.size()
	for e.index > e.opts.MaxIndex && len(e.finished) > 1 {
		e.forget(e.finished[0])
		e.finished = slices.Delete(e.finished, 0, 1)
	}
}

// close removes the finished traces older than Options.Keep. Later spans with such a trace's ID are
// refused. A trace with a parent outside still passes spans, because others share its ID.
func (e *endings) close(now time.Time) {
	over := 0
	for over < len(e.finished) && now.Sub(e.finished[over].handed) > e.opts.Keep {
		c := e.finished[over]
		e.forget(c)
		if !c.outside {
			e.traces.closed.add(c.id)
		}
		over++
	}
	e.finished = slices.Delete(e.finished, 0, over)
}

func (e *endings) forget(c *change) {
	e.index -= c.size()
	e.traces.forget(c)
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
