// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
	"github.com/kube-lifeline/lifeline/app/internal/rights"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Record is a stored trace.
type Record struct {
	Summary
	// Trace has its spans in their order in the batches: first those of the valid version, then
	// those that another finished version added, then the amendments. Open spans are open.
	Trace *span.Trace
}

// Summary is a trace in one line: its time, author, object and outcome.
type Summary struct {
	ID trace.TraceID
	// Open marks an unfinished trace.
	Open bool
	// Stuck marks an open trace with a span that waits after an error, or with a reason that does not only hold it.
	Stuck bool
	// Pinned marks a trace that Prune keeps.
	Pinned bool
	// Start is the start of the root, and Duration its length. Without a root, all spans count. An
	// open root extends to AsOf.
	Start    time.Time
	Duration time.Duration
	// Earliest is the earliest possible start if Start is only the latest possible one; zero otherwise.
	Earliest time.Time
	// Outcome is that of the valid claims. Was is that of the first ones, if it was another, and SettledAt the time
	// of the newest claim after these; see span.Revise. Reason is that of the first outcome, or of an open trace.
	Outcome   span.Outcome
	Was       span.Outcome
	SettledAt time.Time
	Reason    string
	// Aftermath is what happened to the Pods of a converged change afterwards, as span.AftermathOf returns it; nil
	// without anything.
	Aftermath *span.Aftermath

	// Name and Object are the root's, or those of the first visible span if the root is outside of the scope. Verb is
	// that of the first write to the object. Command is the command of a run. Each may be empty.
	Name    string
	Object  object.Ref
	Verb    string
	Command string
	// Actor is the component that made the change, or the first one of a run. User is the user of
	// that change.
	Actor, User string
	// Heals is the cause of a change that the cluster made by itself.
	Heals string
	// Fight describes the change's fight, as insight.Fight does.
	Fight string
	// Edits says what the change changed, as insight.Edits does.
	Edits []string
	// Category is the category of Reason, as in package reason; empty for an ordinary wait.
	Category string

	// Slowest is the kind of work with most of the critical path, and its share; empty without any.
	Slowest         string
	SlowestDuration time.Duration
	// Work are the kinds of work on the critical path, as insight.Longest returns them. The rest of
	// Duration is other work. It is nil without a path.
	Work []insight.Work
	// Current is the work at the end of an open trace's critical path, and CurrentDuration its part
	// of the path by AsOf. It continues.
	Current         string
	CurrentDuration time.Duration
	// Spans counts all spans, with amendments.
	Spans int

	// AsOf and Revision are those of the version's batch.
	AsOf     time.Time
	Revision int64
}

// Summarize derives the Summary of t at the time asOf. The caller sets Open, AsOf and Revision.
func Summarize(t *span.Trace, asOf time.Time) Summary {
	spans := len(t.Spans)
	t = span.Revise(t)
	out := Summary{
		ID: t.ID, Outcome: t.Outcome, Was: t.Was, SettledAt: t.SettledAt(), Reason: t.Reason, Spans: spans,
		Aftermath: span.AftermathOf(t),
	}
	out.Stuck = t.Stuck()
	out.Start, out.Duration = extent(t, asOf)
	out.Fight, out.Edits = insight.Fight(t), insight.Edits(t)
	path := insight.CriticalPath(t, asOf)
	if shares := insight.Shares(path); len(shares) > 0 && shares[0].Label != insight.Other {
		out.Slowest, out.SlowestDuration = shares[0].Label, shares[0].Duration
	}
	out.Work = insight.Longest(path)
	if n := len(path); n > 0 && path[n-1].Span.Open() {
		out.Current = insight.Label(path[n-1].Span)
		for _, s := range path {
			if insight.Label(s.Span) == out.Current {
				out.CurrentDuration += s.Duration()
			}
		}
	}
	root := subject(t)
	if root == nil {
		return out
	}
	out.Name, out.Object = root.Name, root.Object
	if at, err := time.Parse(time.RFC3339, insight.Attribute(root, span.KeyEarliest)); err == nil {
		out.Earliest = at
	}
	out.Command = insight.Attribute(root, span.KeyCommand)
	out.Heals, out.Category = insight.Attribute(root, span.KeyHeals), insight.Attribute(root, span.KeyReason)
	out.Stuck = out.Stuck && !out.held()
	out.Actor, out.User = insight.Attribute(root, span.KeyActor), insight.Attribute(root, span.KeyActorUser)
	if first := firstWrite(t, root); first != nil {
		out.Actor = cmp.Or(out.Actor, first.Actor)
		if root.Object.Name != "" {
			out.Verb = first.Verb
		}
	}
	if out.Actor == "" { // nothing was stored: the author of a refused request
		for _, s := range t.Spans {
			if s.Origin == nil && s.IsWrite() {
				out.Actor = s.Service
				break
			}
		}
	}
	return out
}

// subject returns the span that a Summary is about: the root, or the first one below a root outside of the scope.
func subject(t *span.Trace) *span.Span {
	root := t.Root()
	if root == nil || root.Name != rights.Outside || root.Object != (object.Ref{}) {
		return root
	}
	first := root
	for _, s := range t.Spans {
		if s.Parent == root.ID && s.Origin == nil && (first == root || s.Start.Before(first.Start.Time)) {
			first = s
		}
	}
	return first
}

// State returns the word for the trace.
func (s *Summary) State() span.State { return span.StateOf(s.Open, s.held(), s.Stuck, s.Outcome) }

// held reports whether the reason of an open trace holds its object.
func (s *Summary) held() bool { return reason.Category(s.Category).Held() }

// Recovered reports whether a later claim made the outcome a good one.
func (s *Summary) Recovered() bool {
	return s.Was != "" && (s.Outcome == span.Converged || s.Outcome == span.Deleted)
}

// At returns s at the time now. A server stores an open trace only when it changes, but its current
// work continues.
func (s Summary) At(now time.Time) Summary {
	more := now.Sub(s.Start) - s.Duration
	if !s.Open || s.State().Ended() || s.Duration <= 0 || more <= 0 {
		return s
	}
	s.Duration += more
	if s.Current == "" {
		return s
	}
	if s.CurrentDuration += more; s.Current == s.Slowest || s.CurrentDuration > s.SlowestDuration {
		s.Slowest, s.SlowestDuration = s.Current, s.CurrentDuration
	}
	if i := slices.IndexFunc(s.Work, func(w insight.Work) bool { return w.Label == s.Current }); i >= 0 {
		s.Work = slices.Clone(s.Work)
		s.Work[i].Duration = s.CurrentDuration
	}
	return s
}

// Start returns the start of t, as in its Summary.
func Start(t *span.Trace) time.Time {
	start, _ := extent(t, time.Time{})
	return start
}

// extent returns the start and end of the root, or of all spans without a root.
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

// firstWrite returns the first write to root's object, or to any object if root is a run.
func firstWrite(t *span.Trace, root *span.Span) *Write {
	run := root.Object.Name == ""
	var first *Write
	for _, s := range t.Spans {
		if !run && s.Object != root.Object {
			continue
		}
		for _, w := range WritesOf(s) {
			switch {
			case !run && w.Object != root.Object:
			case first == nil, run && w.Start.Before(first.Start), !run && w.precedes(first):
				first = &w
			}
		}
	}
	return first
}
