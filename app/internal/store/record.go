// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Record is a stored trace.
type Record struct {
	Summary
	// Trace has the spans in the order in which they were given: those of the
	// version that counts, then those that another finished version added,
	// then the amending ones. Open spans are open.
	Trace *span.Trace
}

// Summary is one line about a trace: when, who, what, and how it went.
type Summary struct {
	ID trace.TraceID
	// Open: more is expected of the trace.
	Open bool
	// Stuck means that a span of an open trace waits after an error.
	Stuck bool
	// Start is that of the root, and Duration its length; where no span is a
	// root, all spans count. An open root reaches to AsOf.
	Start    time.Time
	Duration time.Duration
	Outcome  span.Outcome
	Reason   string

	// Name and Object are those of the root; Verb is that of the first write
	// to the object, and Command what a run ran. Any may be empty.
	Name    string
	Object  object.Ref
	Verb    string
	Command string
	// Actor is the component that made the change, the first one of a run;
	// User on whose behalf.
	Actor, User string
	// Heals is what the cluster reacted to, for a trace that nobody asked for.
	Heals string
	// Fight describes the fight in which the change is, as insight.Fight does.
	Fight string

	// Slowest is the kind of work that has most of the critical path, and how
	// much; empty if there is none.
	Slowest         string
	SlowestDuration time.Duration
	// Current is the work at the end of the critical path of an open trace, and
	// CurrentDuration how much of the path it has by AsOf. It goes on.
	Current         string
	CurrentDuration time.Duration
	// Spans is their number, amending ones included.
	Spans int

	// AsOf and Revision are those of the batch that brought the version.
	AsOf     time.Time
	Revision int64
}

// Summarize derives the Summary of t, as it stood at asOf. Open, AsOf and
// Revision are the caller's to set.
func Summarize(t *span.Trace, asOf time.Time) Summary {
	out := Summary{ID: t.ID, Outcome: t.Outcome, Reason: t.Reason, Spans: len(t.Spans)}
	out.Stuck = slices.ContainsFunc(t.Spans, (*span.Span).Stuck)
	out.Start, out.Duration = extent(t, asOf)
	out.Fight = insight.Fight(t)
	path := insight.CriticalPath(t, asOf)
	if shares := insight.Shares(path); len(shares) > 0 && shares[0].Label != insight.Other {
		out.Slowest, out.SlowestDuration = shares[0].Label, shares[0].Duration
	}
	if n := len(path); n > 0 && path[n-1].Span.Open() {
		out.Current = insight.Label(path[n-1].Span)
		for _, s := range path {
			if insight.Label(s.Span) == out.Current {
				out.CurrentDuration += s.Duration()
			}
		}
	}
	root := t.Root()
	if root == nil {
		return out
	}
	out.Name, out.Object = root.Name, root.Object
	out.Command = insight.Attribute(root, span.KeyCommand)
	out.Heals = insight.Attribute(root, span.KeyHeals)
	out.Actor, out.User = insight.Attribute(root, span.KeyActor), insight.Attribute(root, span.KeyActorUser)
	if first := firstWrite(t, root); first != nil {
		out.Actor = cmp.Or(out.Actor, first.Actor)
		if root.Object.Name != "" {
			out.Verb = first.Verb
		}
	}
	return out
}

// At returns s as it stands at now: a server stores an open trace only when it changes, and its current
// work has gone on since.
func (s Summary) At(now time.Time) Summary {
	more := now.Sub(s.Start) - s.Duration
	if !s.Open || s.Duration <= 0 || more <= 0 {
		return s
	}
	s.Duration += more
	if s.Current == "" {
		return s
	}
	if s.CurrentDuration += more; s.Current == s.Slowest || s.CurrentDuration > s.SlowestDuration {
		s.Slowest, s.SlowestDuration = s.Current, s.CurrentDuration
	}
	return s
}

// extent is from when to when the root reaches, or all spans if none is one.
func extent(t *span.Trace, asOf time.Time) (time.Time, time.Duration) {
	spans := t.Spans
	if root := t.Root(); root != nil {
		spans = []*span.Span{root}
	}
	var start, end time.Time
	for i, s := range spans {
		until := s.End.Time
		if s.Open() {
			until = asOf
		}
		if i == 0 || s.Start.Before(start) {
			start = s.Start.Time
		}
		if i == 0 || until.After(end) {
			end = until
		}
	}
	return start, max(0, end.Sub(start))
}

// firstWrite is the earliest write to the object of root, or to any if root is
// a run.
func firstWrite(t *span.Trace, root *span.Span) *Write {
	var first *Write
	for _, s := range t.Spans {
		if root.Object.Name != "" && s.Object != root.Object {
			continue
		}
		for _, w := range WritesOf(s) {
			if (root.Object.Name == "" || w.Object == root.Object) && (first == nil || w.Start.Before(first.Start)) {
				first = &w
			}
		}
	}
	return first
}
