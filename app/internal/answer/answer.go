// SPDX-License-Identifier: Apache-2.0

// Package answer says how an object is, and why, by a trace with it.
package answer

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// State is the word for an object after its last change, of the table of span.States.
type State string

// The states beside the outcomes of span.
const (
	Running = State(span.Running)
	Held    = State(span.Held)
	Stuck   = State(span.Stuck)
)

// Refused means that the API server refused the request of the change: the object is as it was.
const Refused = State(span.Refused)

// Bad reports whether something is wrong with the object.
func (s State) Bad() bool {
	return s == Stuck || s == State(span.Failed) || s == State(span.Unfinished)
}

// Answer says how an object is, and why. Its texts are not escaped.
type Answer struct {
	Object object.Ref `json:"object"`
	State  State      `json:"state"`
	// Category is the value of lifeline.reason; "" for an ordinary wait.
	Category string `json:"category,omitempty"`
	// Reason is the reason in a sentence; "" if nothing is wrong.
	Reason string `json:"reason,omitempty"`
	// Remark is what to add about a convergence: a wished pause or stop, or that nothing confirms it.
	Remark string `json:"remark,omitempty"`
	// Start and End are those of the change. End is zero for an open change.
	Start time.Time `json:"start"`
	End   time.Time `json:"end,omitzero"`
	// Since is the time of the first version with the reason; zero if that is not known.
	Since time.Time `json:"since,omitzero"`
	// Before are earlier waits of the object to blame, such as "2s for a node".
	Before []string `json:"before,omitempty"`
	// Was is the outcome before a later claim, and WasFor its reason; empty without one.
	Was    span.Outcome `json:"was,omitempty"`
	WasFor string       `json:"wasFor,omitempty"`
	// Aftermath is what happened to the Pods of the converged change afterwards, to follow "since then"; "" without
	// anything.
	Aftermath string `json:"aftermath,omitempty"`
	// Next is a command that shows more.
	Next string `json:"next,omitempty"`
	// Slowest is the slowest work of a change without a reason, and Share its part in percent.
	Slowest string `json:"slowest,omitempty"`
	Share   int    `json:"share,omitempty"`
	// Cause is the change. Later means that the object got the reason after that change had ended: the
	// change need not be its cause.
	Cause Cause `json:"cause"`
	Later bool  `json:"later,omitempty"`
	// Attempt is the last attempt to schedule the Pod, or the Pod to blame; nil without its spans. Nodes are
	// changes of nodes that it rejected.
	Attempt *Attempt     `json:"attempt,omitempty"`
	Nodes   []NodeChange `json:"nodes,omitempty"`
	// Note completes a verdict without a reason: the object works as declared, but not as one may expect.
	Note string `json:"note,omitempty"`
	// Fields are the fields whose newest change led to the reason or the note.
	Fields []reason.Field `json:"-"`
	// Ended is how a removed object had ended before its deletion; nil if that is not known.
	Ended *Ended `json:"ended,omitempty"`
	// Begins is the time from which the server has traces; zero if that is not known.
	Begins time.Time `json:"-"`
}

// Cause is the change that led to an answer.
type Cause struct {
	// TraceID is empty for a trace that was derived from the present state: no server has it.
	TraceID string `json:"traceId,omitempty"`
	// Who is the user, or else the component; "" if neither is known.
	Who string `json:"who,omitempty"`
	// Object is the changed object; its zero value is a command's change of several objects.
	Object object.Ref `json:"object"`
	// Verb is "create", "update" or "delete"; "" if it is not known.
	Verb string `json:"verb,omitempty"`
	// Fields are the paths of the changed fields, and Edits the changes in words.
	Fields []string `json:"fields,omitempty"`
	Edits  []string `json:"edits,omitempty"`
	// Command is that of `lifeline run`.
	Command string `json:"command,omitempty"`
	// Heals is the lost object that the change replaces.
	Heals string `json:"heals,omitempty"`
	// Fight describes the fight of the change with other authors.
	Fight string `json:"fight,omitempty"`
}

// Explain returns the answer for the object, by a trace with it. Without a span of the object, it
// is the answer for the whole change.
func Explain(t *span.Trace, of object.Ref, now time.Time) Answer {
	root := t.Root()
	a := Answer{Object: of, Cause: Cause{TraceID: t.ID.String()}}
	if root == nil {
		return a
	}
	own := Reconciliation(t, of)
	if own == nil {
		own = root
	}
	if a.Object.Name == "" || own.Object.Name != "" {
		a.Object = own.Object
	}
	a.Start, a.End = own.Start.Time, own.End.Time
	part := partOf(t, root, own)
	if insight.Attribute(own, span.KeyReason) != "" {
		part = own
	}
	outcome := own.Outcome
	bad := t.Outcome.InVain() || t.Outcome == span.Unfinished
	if (own == root || own == part) && (outcome == "" || part == root && bad) {
		outcome = t.Outcome
	}
	category, reason := insight.Attribute(part, span.KeyReason), insight.Attribute(part, span.KeyReasonMessage)
	if part == root {
		reason = t.Reason
	}
	if blamed := blamed(t, part); blamed != nil && own.Open() && !above(t, own, blamed) {
		category, reason = "", own.Message
	}
	switch {
	case own != root && !own.Open() && !outcome.InVain() && outcome != span.Unfinished:
		a.State, category = State(outcome), ""
	case outcome.InVain() && !own.Open(), outcome == span.Unfinished && !own.Open():
		a.State, a.Reason = State(outcome), cmp.Or(reason, own.Message)
	case own.Open():
		a.State = State(span.StateOf(true, held(category), category != "", ""))
		if a.Reason = reason; category == "" {
			a.Reason = cmp.Or(reason, own.Message)
		}
	default:
		a.State = State(outcome)
	}
	if was := insight.Attribute(own, span.KeyWas); was != "" {
		a.Was, a.WasFor = span.Outcome(was), strings.TrimPrefix(strings.TrimPrefix(own.Message, "was "+was), ": ")
	} else if a.State == State(span.Converged) {
		a.Remark = own.Message
	}
	a.refuse(t, own)
	if a.State == State(span.Deleted) {
		a.endWithin(t, own)
		if own == root {
			a.Reason = t.Reason
		}
	}
	if a.Reason != "" && category != "" {
		a.Category, a.Next = category, insight.Attribute(part, span.KeyReasonNext)
		a.Before = insight.List(part, span.KeyReasonBefore)
		if since, err := time.Parse(time.RFC3339Nano, insight.Attribute(part, span.KeyReasonSince)); err == nil {
			a.Since = since
		}
	}
	a.schedule(t, part, own)
	if after := aftermath(t, root, own); after != nil {
		a.Aftermath = after.Text()
	}
	sum := store.Summarize(t, now)
	if a.Reason == "" && part == root && sum.SlowestDuration > 0 && sum.Duration > 0 {
		a.Slowest, a.Share = sum.Slowest, int(100*sum.SlowestDuration/sum.Duration)
	}
	a.Cause = CauseOf(&sum)
	a.Cause.Fields, a.Cause.Edits = insight.List(root, span.KeyFields), a.Attempt.relevantFirst(a.Cause.Edits)
	return a
}

// aftermath returns what happened to the Pods below own afterwards; nil without anything. Those of the whole change
// count for the root. An aftermath is of the Pods of a workload, not of one of them.
func aftermath(t *span.Trace, root, own *span.Span) *span.Aftermath {
	return span.AftermathWhere(t, func(s *span.Span) bool {
		return own == root || !kind.Pod.Is(own.Object.Kind) && slices.ContainsFunc(t.Spans, func(pod *span.Span) bool {
			return pod.IsReconciliation() && pod.Object.UID == s.Object.UID && above(t, own, pod)
		})
	})
}

// held reports whether the category is that of a held object.
func held(category string) bool { return reason.Category(category).Held() }

// CauseOf returns the change of a trace as a cause, without its fields.
func CauseOf(sum *store.Summary) Cause {
	return Cause{
		TraceID: sum.ID.String(), Who: cmp.Or(sum.User, sum.Actor), Object: sum.Object, Verb: sum.Verb,
		Edits: sum.Edits, Command: sum.Command, Heals: sum.Heals, Fight: sum.Fight,
	}
}

// schedule adds the last attempt to schedule a Pod: own, or the Pod to blame for the reason of part. A failed
// attempt is added only to a reason that is about scheduling.
func (a *Answer) schedule(t *span.Trace, part, own *span.Span) {
	pod := own
	if !kind.Pod.Is(own.Object.Kind) {
		pod = blamed(t, part)
	}
	if pod == nil || !kind.Pod.Is(pod.Object.Kind) {
		return
	}
	attempts := AttemptsOf(t)
	attempt := attempts.of(pod)
	switch {
	case attempt == nil:
	case attempt.Choice != nil:
		if pod == own {
			a.Attempt = attempt
		}
	case strings.Contains(a.Reason, reason.NotScheduled) && attempt.agrees(attempts.waiting(pod)):
		a.Attempt = attempt
		a.Reason = span.Bound(attempt.detailed(a.Reason))
	}
}

// Stand replaces the verdict by the reason of an object that has converged and does not work. A note completes the
// verdict.
func (a *Answer) Stand(r reason.Reason) {
	text := span.Bound(a.Object.Kind.Kind + " " + a.Object.Name + " " + r.Text)
	a.Category, a.Next = string(r.Category), r.Next(a.Object)
	a.Since, a.Fields, a.Later = r.Since, r.Fields, !a.End.IsZero()
	if r.Note {
		a.Note, a.Next, a.Later = text, "", true
		return
	}
	a.State, a.Reason = Stuck, text
	if r.Category.Held() {
		a.State = Held
	}
	a.Slowest, a.Share = "", 0
}

// Reconciliation returns the newest reconciliation of an object that matches of, or nil. An object of the same group
// has precedence: a Service of Knative and the core one that it creates have one name.
func Reconciliation(t *span.Trace, of object.Ref) *span.Span {
	var out *span.Span
	for _, s := range t.Spans {
		if of != (object.Ref{}) && s.Origin == nil && s.Name == span.ReconcileName(s.Object.Kind.Kind) &&
			store.Matches(s.Object, of) && (out == nil || precedes(s, out, of.Group)) {
			out = s
		}
	}
	return out
}

// precedes reports whether the reconciliation a is preferred to b for an object of that group.
func precedes(a, b *span.Span, group string) bool {
	if x, y := a.Object.Group == group, b.Object.Group == group; x != y {
		return x
	}
	return a.Start.After(b.Start.Time)
}

// partOf returns the span with the reason of own: the root, or for a command that wrote several objects the
// one below it.
func partOf(t *span.Trace, root, own *span.Span) *span.Span {
	if root.Name != span.NameRun || own == root {
		return root
	}
	part, parts := root, 0
	for _, s := range t.Spans {
		if s.Parent != root.ID || s.Origin != nil || s.Object.Name == "" {
			continue
		}
		parts++
		if above(t, s, own) {
			part = s
		}
	}
	if parts < 2 {
		return root
	}
	return part
}

// blamed returns the span of the object to blame below part, or nil.
func blamed(t *span.Trace, part *span.Span) *span.Span {
	name := insight.Attribute(part, span.KeyReasonObject)
	for _, s := range t.Spans {
		if name != "" && s.Origin == nil && s.Name == span.ReconcileName(s.Object.Kind.Kind) &&
			s.Object.Kind.Kind+" "+s.Object.Name == name && above(t, part, s) {
			return s
		}
	}
	return nil
}

// above reports whether top is above s in the tree, or the same span.
func above(t *span.Trace, top, s *span.Span) bool {
	parents := map[trace.SpanID]trace.SpanID{}
	for _, each := range t.Spans {
		parents[each.ID] = each.Parent
	}
	for id, n := s.ID, 0; n <= len(t.Spans); n++ {
		if id == top.ID {
			return true
		}
		up, found := parents[id]
		if !found {
			return false
		}
		id = up
	}
	return false
}
