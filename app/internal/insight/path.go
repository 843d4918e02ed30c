// SPDX-License-Identifier: Apache-2.0

// Package insight says what a trace means: where its time went. It computes on
// spans alone and draws nothing.
package insight

import (
	"math"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Segment is a stretch of the critical path: from Start to End, what the trace
// waited for was Span.
type Segment struct {
	Span       *span.Span
	Start, End time.Time
}

// Duration is the segment's length; never negative.
func (s Segment) Duration() time.Duration { return s.End.Sub(s.Start) }

// CriticalPath tells, for every moment of t's root, the deepest span that its
// completion waited for. The segments are in order, do not overlap, none is
// empty, and together they are exactly as long as the root; an open span
// reaches to now. It is nil for a trace without a root or whose root has no
// length.
//
// The walk goes back from the root's end: to the child that ended last, with all
// that is below it, through that child in the same way, and from its start to
// the child that had ended by then. What no child explains is the parent's own,
// but for a reconciliation that waits for its turn: what its siblings brought to
// an end meanwhile (the new Pods of a rollout, while the old ReplicaSet stands
// still) is what it waited for. Where spans outlive the root or start before
// their parent, only the common part counts. Spans of other components tell the
// same once more, finer: they are passed over.
func CriticalPath(t *span.Trace, now time.Time) []Segment {
	root := t.Root()
	if root == nil {
		return nil
	}
	w := walk{
		now: now, children: map[trace.SpanID][]*span.Span{}, onPath: map[*span.Span]bool{},
		reaches: map[*span.Span]time.Time{},
	}
	others := map[trace.SpanID]trace.SpanID{}
	for _, s := range t.Spans {
		if s.Origin != nil && root.Origin == nil {
			others[s.ID] = s.Parent
		}
	}
	for _, s := range t.Spans {
		if _, other := others[s.ID]; s != root && !other {
			above := ours(s.Parent, others)
			w.children[above] = append(w.children[above], s)
		}
	}
	w.span(root, root.Start.Time, w.end(root))
	slices.Reverse(w.segments)
	return w.segments
}

// ours is the first of Lifeline's own spans at or above a parent.
func ours(parent trace.SpanID, others map[trace.SpanID]trace.SpanID) trace.SpanID {
	for range len(others) {
		up, other := others[parent]
		if !other {
			break
		}
		parent = up
	}
	return parent
}

type walk struct {
	now      time.Time
	children map[trace.SpanID][]*span.Span
	// onPath guards against spans that are their own ancestors.
	onPath map[*span.Span]bool
	// reaches remembers reach.
	reaches map[*span.Span]time.Time
	// segments are in reverse.
	segments []Segment
}

// span adds what was waited for within s between from and to, last first.
func (w *walk) span(s *span.Span, from, to time.Time) {
	if w.onPath[s] {
		w.add(s, from, to)
		return
	}
	w.onPath[s] = true
	defer delete(w.onPath, s)

	candidates := w.candidates(s)
	at, slack := to, time.Duration(math.MaxInt64) // a child may outlive its parent by any length
	for _, c := range candidates {
		end, start := earlier(c.end, at), later(c.Start.Time, from)
		if !at.After(from) {
			break
		}
		allowed := resolution(c.End)
		if !c.rival {
			allowed = max(slack, allowed)
		}
		if w.onPath[c.Span] || !start.Before(end) || c.end.Sub(at) > allowed {
			continue
		}
		w.own(s, end, at)
		w.span(c.Span, start, end)
		at, slack = start, resolution(c.Start)
	}
	w.own(s, from, at)
}

// own adds what no candidate of s explains: as s itself, or as the condition
// that s waited for meanwhile.
func (w *walk) own(s *span.Span, from, to time.Time) {
	if len(w.inner(s)) > 0 {
		conditions := slices.DeleteFunc(slices.Clone(w.children[s.ID]), func(c *span.Span) bool { return !isCondition(c) })
		slices.SortStableFunc(conditions, func(a, b *span.Span) int { return w.end(b).Compare(w.end(a)) })
		for _, c := range conditions {
			start, end := later(c.Start.Time, from), earlier(w.end(c), to)
			if start.Before(end) {
				w.add(s, end, to)
				w.add(c, start, end)
				to = start
			}
		}
	}
	w.add(s, from, to)
}

// isCondition reports whether s is the wait for a condition. What the object
// has caused explains such a wait better than the condition's name.
func isCondition(s *span.Span) bool { return s.Name == span.NameCondition }

// candidate is a span that another may have waited for, and when that wait was
// over.
type candidate struct {
	*span.Span
	end   time.Time
	rival bool
}

// candidates are what s may have waited for, the last to end first: its
// children, and its rivals.
func (w *walk) candidates(s *span.Span) []candidate {
	children, rivals := w.children[s.ID], w.rivals(s)
	out := make([]candidate, 0, len(children)+len(rivals))
	explained := len(w.inner(s)) > 0
	for _, c := range children {
		if explained && isCondition(c) {
			continue
		}
		out = append(out, candidate{c, w.reach(c), false})
	}
	for _, c := range rivals {
		out = append(out, candidate{c, w.end(c), true})
	}
	slices.SortStableFunc(out, func(a, b candidate) int { return b.end.Compare(a.end) })
	return out
}

// rivals are the innermost reconciliations beside s, and those below a child of
// s that itself went on: what s may have waited for. Only a reconciliation that
// others are part of waits for its turn.
func (w *walk) rivals(s *span.Span) []*span.Span {
	if !s.IsReconciliation() || len(w.inner(s)) == 0 {
		return nil
	}
	var out []*span.Span
	for _, c := range w.inner(s) {
		out = w.leaves(c, out, 0)
	}
	for _, sibling := range w.children[s.Parent] {
		if sibling != s && sibling.IsReconciliation() {
			out = w.leaves(sibling, out, 0)
		}
	}
	return out
}

func (w *walk) leaves(s *span.Span, out []*span.Span, depth int) []*span.Span {
	inner := w.inner(s)
	if len(inner) == 0 && depth > 0 {
		return append(out, s)
	}
	for _, c := range inner {
		if depth < maxDepth {
			out = w.leaves(c, out, depth+1)
		}
	}
	return out
}

// inner are the reconciliations right below s.
func (w *walk) inner(s *span.Span) []*span.Span {
	var out []*span.Span
	for _, c := range w.children[s.ID] {
		if c.IsReconciliation() {
			out = append(out, c)
		}
	}
	return out
}

// maxDepth bounds recursion over spans that may be their own ancestors.
const maxDepth = 64

// reach is when the last of s and of all that is below it ended.
func (w *walk) reach(s *span.Span) time.Time {
	if known, ok := w.reaches[s]; ok {
		return known
	}
	w.reaches[s] = w.end(s) // ends a cycle
	at := w.end(s)
	for _, c := range w.children[s.ID] {
		at = later(at, w.reach(c))
	}
	w.reaches[s] = at
	return at
}

func (w *walk) add(s *span.Span, from, to time.Time) {
	if !from.Before(to) {
		return
	}
	if n := len(w.segments); n > 0 && w.segments[n-1].Span == s && w.segments[n-1].Start.Equal(to) {
		w.segments[n-1].Start = from
		return
	}
	w.segments = append(w.segments, Segment{Span: s, Start: from, End: to})
}

func (w *walk) end(s *span.Span) time.Time {
	if s.Open() {
		return later(w.now, s.Start.Time)
	}
	return s.End.Time
}

// resolution is by how much two neighbouring moments may seem to overlap
// because of how one of them is known (rule T).
func resolution(t span.Time) time.Duration {
	switch t.Source {
	case span.TimeObject:
		return time.Second
	case span.TimeWatch:
		return 50 * time.Millisecond
	}
	return 0
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
