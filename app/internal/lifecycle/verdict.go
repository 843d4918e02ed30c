// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/phase"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// verdict returns the outcome of a whole trace, and its reason in one line. The outcome is failed
// if anything failed permanently, and unfinished while anything is open.
func (d *derivation) verdict(l *change.Lineage) (span.Outcome, string) {
	if l.Vain && len(l.Refused) > 0 {
		w := l.Refused[0]
		return span.Failed, span.Bound(w.Kind.Kind + " " + w.Name + ": " + refusalText(w.Write))
	}
	outcome := span.Converged
	if l.Run == nil && len(l.Reconciliations) > 0 {
		outcome = l.Reconciliations[0].Ended.Outcome
	}
	var failed, open *change.Reconciliation
	for _, r := range l.Reconciliations {
		switch {
		case !r.Done, r.Ended.Outcome == span.Unfinished && !r.Ended.Unseen:
			open = deeper(open, r)
		case r.Ended.Outcome == span.Failed && !d.overtaken(r) && !r.Attempt():
			failed = deeper(failed, r)
		}
	}
	switch {
	case failed != nil:
		reason := describe(failed, failed.Ended.Message)
		if below := d.trouble(failed); below != "" {
			reason += ": " + below
		}
		return span.Failed, span.Bound(reason)
	case open != nil:
		reason := d.trouble(open)
		if reason == "" && open.Timeline.Last() != nil {
			reason = describe(open, d.waitsFor(open.Timeline, open.Timeline.Last()))
		}
		return span.Unfinished, span.Bound(reason)
	case l.Run != nil && l.Run.End.IsZero():
		return span.Unfinished, "the command is still running"
	case l.Run != nil:
		for _, r := range l.Reconciliations {
			if r.Superseded != nil && r.Parent == nil && r.Ended.Outcome == span.Superseded {
				return span.Superseded, span.Bound(describe(r, "replaced by a newer change"))
			}
		}
	}
	return outcome, ""
}

// overtaken reports whether the object was reconciled again after r. A deletion by another change
// repairs nothing.
func (d *derivation) overtaken(r *change.Reconciliation) bool {
	now := newest(d.historyOf(r.Timeline))
	switch {
	case now == r:
		return false
	case now.Lineage == r.Lineage:
		return true
	}
	return r.Parent != nil && now.Verb != history.Deleted
}

// deeper returns the reconciliation further down, because it is nearer to the reason.
func deeper(a, b *change.Reconciliation) *change.Reconciliation {
	if a == nil || b.Depth() > a.Depth() {
		return b
	}
	return a
}

// trouble returns the reason why a Pod below r cannot continue, or an empty string.
func (d *derivation) trouble(r *change.Reconciliation) string {
	for _, below := range r.Lineage.Reconciliations {
		last := below.Timeline.Last()
		if below.Done && below.Ended.Outcome != span.Unfinished || last == nil || last.Pod == nil ||
			!judge.Troubled(last) {
			continue
		}
		for p := below; p != nil; p = p.Parent {
			if p == r {
				return describe(below, judge.PodWaitsFor(last))
			}
		}
	}
	return ""
}

func describe(r *change.Reconciliation, message string) string {
	return r.Timeline.Ref.Kind.Kind + " " + r.Timeline.Ref.Name + ": " + message
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
