// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/phase"
	"github.com/kube-lifeline/lifeline/app/internal/placed"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/trail"
)

// verdict is the outcome of a whole trace. The outcome is failed if anything failed permanently, unfinished
// while anything is open, and refused if nothing else went wrong.
type verdict struct {
	outcome span.Outcome
	// text is the reason in one line.
	text string
	// blamed is the reconciliation of the object to blame, and reason its reason; nil and empty if no
	// object is to blame.
	blamed *change.Reconciliation
	reason reason.Reason
	// refused is the refused request to blame; nil otherwise.
	refused *observation.Write
}

func (b *Builder) verdict(l *change.Lineage) verdict {
	if l.Vain && len(l.Refused) > 0 {
		if w := l.Refused[0]; !w.Failed() {
			return verdict{outcome: unseenOutcome(w)}
		}
		return b.beside(deniedVerdict(l.Refused[0].Write, l.Refused))
	}
	var failed, deepest, open *change.Reconciliation
	for _, r := range l.Reconciliations {
		switch {
		case unfinished(r):
			open = r
		case b.failed(r):
			if failed == nil || r.Depth() < failed.Depth() {
				failed = r
			}
			deepest = deeper(deepest, r)
		}
	}
	if failed != nil && kind.Job.Is(failed.Timeline.Ref.Kind) {
		deepest = lastAttempt(failed, b.reasons.LastFailed(failed.Timeline), deepest)
	}
	switch {
	case failed != nil:
		return b.failure(l, failed, deepest)
	case open != nil:
		v := verdict{outcome: span.Unfinished}
		if below, why, n := b.trouble(l, nil); below != nil {
			v.blamed, v.reason, v.text = below, why, span.Bound(describe(below, why.Text)+Others(n))
		}
		return v
	}
	return b.reached(l)
}

// reached is the verdict on a trace without failed and unfinished reconciliations.
func (b *Builder) reached(l *change.Lineage) verdict {
	outcome := span.Converged
	if l.Run == nil && len(l.Reconciliations) > 0 {
		outcome = l.Reconciliations[0].Ended.Outcome
	}
	if l.Run != nil && l.Run.End.IsZero() {
		return verdict{outcome: span.Unfinished, text: "the command is still running"}
	}
	if v, found := b.inVain(l); found {
		return v
	}
	if l.Run != nil && l.Run.ExitCode != 0 {
		return commandFailed(l)
	}
	if l.Run != nil {
		for _, r := range l.Reconciliations {
			if r.Superseded != nil && r.Parent == nil && r.Ended.Outcome == span.Superseded {
				return verdict{
					outcome: span.Superseded,
					text:    span.Bound(describe(r, "was superseded by a newer change")),
				}
			}
		}
	}
	if outcome == span.Deleted && l.Run == nil {
		return verdict{outcome: outcome, text: b.collected(l.Reconciliations[0])}
	}
	return verdict{outcome: outcome}
}

// commandFailed is the verdict on a command that failed, while all that it wrote has converged.
func commandFailed(l *change.Lineage) verdict {
	text := "the command failed with exit code " + strconv.Itoa(l.Run.ExitCode)
	if l.Run.ExitCode < 0 {
		text = "the command was killed"
	}
	if len(l.Reconciliations) > 0 {
		text += "; what it changed has converged"
	}
	return verdict{outcome: span.Failed, text: text}
}

// explainParts adds its reason to the reconciliation of each object that a command wrote. The root has
// that of one of them.
func (b *Builder) explainParts(l *change.Lineage, spans []*span.Span) {
	parts := map[trace.SpanID]*change.Lineage{}
	for _, r := range l.Reconciliations {
		top := r
		for top.Parent != nil && top.Parent.Lineage == l {
			top = top.Parent
		}
		part := parts[top.ID()]
		if part == nil {
			part = &change.Lineage{ID: l.ID}
			parts[top.ID()] = part
		}
		part.Reconciliations = append(part.Reconciliations, r)
	}
	for _, s := range spans {
		if part := parts[s.ID]; part != nil && s.Name != span.NameRun {
			v := b.verdict(part)
			s.Attributes = append(s.Attributes, b.reasonAttributes(&v)...)
		}
	}
}

// tried says how often a refused write was tried, if more than once.
func tried(refused []change.Refused) string {
	n := 0
	for _, r := range refused {
		if trail.SameRefusal(r.Write, refused[0].Write) {
			n += 1 + r.Repeats
		}
	}
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(" (tried %d times)", n)
}

// failure is the verdict on a trace in which something has failed. top is the highest and deepest the
// deepest failed reconciliation. The reason of the deepest one counts, except that a controller's own
// reason says more than that a Pod has failed.
func (b *Builder) failure(l *change.Lineage, top, deepest *change.Reconciliation) verdict {
	v := verdict{
		outcome: span.Failed, text: describe(top, top.Ended.Message), blamed: top, reason: b.reasonOfFailure(top),
	}
	category := v.reason.Category
	if below, why, n := b.trouble(l, top); below != nil {
		v.text += ": " + describe(below, why.Text) + Others(n)
		v.blamed, v.reason = below, why
	} else if deepest != top && under(deepest, top) {
		v.text += ": " + describe(deepest, deepest.Ended.Message)
		v.blamed, v.reason = deepest, b.reasonOfFailure(deepest)
	} else if lost := b.reasons.OfLost(top.Timeline); lost != "" {
		v.text += ": " + lost
	}
	if v.reason.Category == "" || v.reason.Category == reason.PodFailed {
		v.reason.Category = cmp.Or(category, v.reason.Category)
	}
	v.text = span.Bound(v.text)
	return v
}

// reasonOfFailure returns the reason of a failed reconciliation. If it was replaced later, that is the
// reason of its own last version.
func (b *Builder) reasonOfFailure(r *change.Reconciliation) reason.Reason {
	if r.Superseded == nil {
		return b.reasons.Of(r.Timeline)
	}
	if v := b.endings.FailedBefore(r, r.Superseded.RV); v != nil {
		return reason.Of(v, nil)
	}
	return reason.Reason{}
}

// maxBefore is the number of earlier waits on a root, and leastBefore the length of the shortest one.
const (
	maxBefore   = 5
	leastBefore = 100 * time.Millisecond
)

// reasonAttributes returns the attributes of a root, of an object that a command wrote, or of one below it, for
// a reason of the list; none for an ordinary wait.
func (b *Builder) reasonAttributes(v *verdict) []attribute.KeyValue {
	if v.reason.Category == "" {
		return nil
	}
	out := []attribute.KeyValue{
		span.KeyReason.String(string(v.reason.Category)), span.KeyReasonMessage.String(v.text),
	}
	switch w := v.refused; {
	case w != nil && w.Name != "":
		out = append(out, span.KeyReasonSince.String(w.Start.UTC().Format(time.RFC3339Nano)))
		return append(out, blame(v.reason, &w.Ref, w.Verb != "create")...)
	case v.blamed == nil:
		return out
	}
	if v.reason.Cause != "" {
		out = append(out, span.KeyReasonCause.String(string(v.reason.Cause)))
	}
	t := v.blamed.Timeline
	out = append(out, blame(v.reason, &t.Ref, true)...)
	i, _ := t.Position(v.blamed.First().RV)
	versions, events := t.Versions[i:], b.reasons.EventsOf(t)
	if next := v.blamed.Superseded; next != nil {
		end, _ := t.Position(next.RV)
		versions, events = t.Versions[i:max(i, end)], nil
	}
	waits := reason.Waits(versions, events)
	if len(waits) == 0 {
		return out
	}
	began := b.trail.Began(v.blamed.First()).At().Time
	at := reason.Since(v.reason, versions[len(versions)-1], waits)
	if at.IsZero() && v.reason.Cause != "" {
		at = began // the other object was found with its reason
	}
	if !at.IsZero() {
		at = history.Later(at, began) // another object may have it for longer
		out = append(out, span.KeyReasonSince.String(at.UTC().Format(time.RFC3339Nano)))
	}
	if before := earlier(waits[:len(waits)-1]); len(before) > 0 {
		out = append(out, span.KeyReasonBefore.StringSlice(before))
	}
	return out
}

// earlier writes waits, the last ones of many. Those for one thing, as of each retry, are one wait, in the place of the
// first.
func earlier(waits []reason.Wait) []string {
	took := map[string]time.Duration{}
	var things []string
	for _, w := range waits {
		if w.Since.IsZero() || w.Until.Sub(w.Since) < leastBefore {
			continue
		}
		if took[w.For] == 0 {
			things = append(things, w.For)
		}
		took[w.For] += w.Until.Sub(w.Since)
	}
	var out []string
	for _, of := range things[max(0, len(things)-maxBefore):] {
		out = append(out, span.Bound(took[of].Round(leastBefore).String()+" for "+of))
	}
	return out
}

// blame returns the attributes about the object to blame. A command can show it if it exists.
func blame(r reason.Reason, ref *object.Ref, exists bool) []attribute.KeyValue {
	out := []attribute.KeyValue{span.KeyReasonObject.String(span.Bound(ref.Kind.Kind + " " + ref.Name))}
	if next := r.Next(*ref); next != "" && exists {
		out = append(out, span.KeyReasonNext.String(span.Bound(next)))
	}
	return out
}

// overtaken reports whether the object was reconciled again after r. A deletion by another change
// repairs nothing.
func (b *Builder) overtaken(r *change.Reconciliation) bool {
	now := placed.Newest(b.placed.Of(r.Timeline))
	switch {
	case now == r:
		return false
	case now.Lineage == r.Lineage:
		return true
	}
	return r.Parent != nil && now.Verb != history.Deleted
}

// lastAttempt returns the reconciliation of the last failed Pod of a Job, or else other.
func lastAttempt(
	job *change.Reconciliation, pod *change.Timeline, other *change.Reconciliation,
) *change.Reconciliation {
	for _, c := range job.Children {
		if c.Timeline == pod && c.Lineage == job.Lineage {
			return c
		}
	}
	return other
}

// deeper returns the reconciliation further down, because it is nearer to the reason.
func deeper(a, b *change.Reconciliation) *change.Reconciliation {
	if a == nil || b.Depth() > a.Depth() {
		return b
	}
	return a
}

// trouble returns the open reconciliation of the trace, below top unless that is nil, whose reason weighs
// most, and the deepest of several; nil if there is none. n is the number of others with that reason: an equal
// category, for the same thing, such as one missing image.
func (b *Builder) trouble(l *change.Lineage, top *change.Reconciliation) (
	below *change.Reconciliation, why reason.Reason, n int,
) {
	for _, r := range l.Reconciliations {
		last := r.Timeline.Last()
		ended := r.Done && r.Ended.Outcome != span.Unfinished
		if r == top || last == nil || ended && !lost(r) || !under(r, top) || b.reasons.OfPod(r.Timeline) {
			continue
		}
		of := b.reasons.Of(r.Timeline)
		switch {
		case ended && of.Weight() == 0:
		case below == nil, of.Weight() > why.Weight():
			below, why, n = r, of, 0
		case of.Weight() < why.Weight():
		case r.Depth() > below.Depth():
			below, why, n = r, of, 0
		case of.Category == why.Category && of.Category != "" && of.For == why.For && r.Depth() == below.Depth():
			n++
		}
	}
	return below, why, n
}

// lost reports whether the object of r, which has converged, has lost its desired state again, and the object above
// still waits: a container ran out of memory after a while, and its Deployment wants it to run for longer.
func lost(r *change.Reconciliation) bool {
	last := r.Timeline.Last()
	return r.Ended.Outcome == span.Converged && r.Parent != nil && !r.Parent.Done && r.Next == nil &&
		r.Timeline.Removal == nil && last.Deleting.IsZero() && !judge.Converged(last)
}

// under reports whether r is below top, or top is nil.
func under(r, top *change.Reconciliation) bool {
	for p := r; p != nil && top != nil; p = p.Parent {
		if p == top {
			return true
		}
	}
	return top == nil
}

// Others counts the other objects with the same reason.
func Others(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (and %d more)", n)
}

func describe(r *change.Reconciliation, message string) string {
	return r.Timeline.Ref.Kind.Kind + " " + r.Timeline.Ref.Name + " " + message
}

// objectEvents returns the Kubernetes Events of the object as span events: warnings, and reports of
// controllers. It leaves out the Events of phases (rule L8).
func objectEvents(r *change.Reconciliation) []span.Event {
	var out []span.Event
	last := r.Timeline.Last()
	for _, e := range r.Timeline.Events {
		if last != nil && last.Pod != nil && (e.FieldPath != "" || e.Type != "Warning") {
			continue // part of the phases of the Pod
		}
		if r.Has(e) {
			out = append(out, phase.Occurred(e))
		}
	}
	return out
}
