// SPDX-License-Identifier: Apache-2.0

// Package insight computes where the time of a trace went. It uses spans only and draws nothing.
package insight

import (
	"cmp"
	"math"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Segment is a part of the critical path. From Start to End the trace waited for Span.
type Segment struct {
	Span       *span.Span
	Start, End time.Time
}

// Duration returns the segment's length; never negative.
func (s Segment) Duration() time.Duration { return s.End.Sub(s.Start) }

// CriticalPath returns, for every moment of t's root, the deepest span that the root's completion
// waited for. The segments are in order, do not overlap and are not empty. Their total is exactly
// the root's duration; an open span extends to now. The result is nil for a trace without a root,
// or with a root of zero length.
//
// The walk goes back from the root's end. It enters the child that ended last, with its
// descendants, and walks through it in the same way. It continues from that child's start with the
// child that had ended by then. Time without such a child belongs to the parent.
//
// A reconciliation that waits for its turn is an exception. It waited for its siblings' work in
// that time, such as the new Pods of a rollout while the old ReplicaSet is idle. Of spans that
// outlive the root or start before their parent, only the common part counts. Spans of other
// components repeat the same work in more detail, and are skipped.
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

// ours returns the first of Lifeline's spans at or above a parent.
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
	// onPath guards against cycles.
	onPath map[*span.Span]bool
	// reaches caches reach.
	reaches map[*span.Span]time.Time
	// segments are in reverse order.
	segments []Segment
}

// span adds the segments of s between from and to, last first.
func (w *walk) span(s *span.Span, from, to time.Time) {
	if w.onPath[s] {
		w.addPart(s, from, to)
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

// own adds the time that no candidate of s explains, as s itself or as the condition that s waited
// for.
func (w *walk) own(s *span.Span, from, to time.Time) {
	if len(w.inner(s)) > 0 {
		conditions := slices.DeleteFunc(slices.Clone(w.children[s.ID]), func(c *span.Span) bool {
			return !isCondition(c)
		})
		slices.SortStableFunc(conditions, func(a, b *span.Span) int { return w.end(b).Compare(w.end(a)) })
		for _, c := range conditions {
			start, end := later(c.Start.Time, from), earlier(w.end(c), to)
			if start.Before(end) {
				w.addPart(s, end, to)
				w.addPart(c, start, end)
				to = start
			}
		}
	}
	w.addPart(s, from, to)
}

// isCondition reports whether s waits for a condition. Work that the object caused explains such a
// wait better.
func isCondition(s *span.Span) bool { return s.Name == span.NameCondition }

// candidate is a span that another may have waited for, and the end of that wait.
type candidate struct {
	*span.Span
	end   time.Time
	rival bool
}

// candidates returns the spans that s may have waited for, the last to end first: its children and
// its rivals.
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
	slices.SortStableFunc(out, func(a, b candidate) int {
		return cmp.Or(b.end.Compare(a.end), cmp.Compare(attached(a.Span), attached(b.Span)))
	})
	return out
}

// attached orders the spans of one attachment: the step of the Pod, and the reconciliation of the VolumeAttachment,
// which has a random name.
func attached(s *span.Span) int {
	if s.Name == span.NameAttach {
		return 0
	}
	return 1
}

// rivals returns the innermost reconciliations beside s, and those below a child of s that
// continued. Only a reconciliation with nested ones waits for its turn.
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

// inner returns the reconciliations directly below s.
func (w *walk) inner(s *span.Span) []*span.Span {
	var out []*span.Span
	for _, c := range w.children[s.ID] {
		if c.IsReconciliation() {
			out = append(out, c)
		}
	}
	return out
}

// maxDepth bounds recursion over spans with cycles.
const maxDepth = 64

// reach returns the last end of s and its descendants.
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

func (w *walk) addPart(s *span.Span, from, to time.Time) {
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

// resolution is the apparent overlap of two adjacent moments, caused by the resolution of one of
// them (rule T).
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
