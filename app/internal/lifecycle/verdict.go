// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// verdict is the outcome of a whole trace and its reason in one line: failed if
// anything failed for good, unfinished while anything is open.
func (d *derivation) verdict(l *lineage) (span.Outcome, string) {
	if l.vain && len(l.refused) > 0 {
		w := l.refused[0]
		return span.Failed, span.Bound(w.Kind.Kind + " " + w.Name + ": " + refusalText(w.Write))
	}
	outcome := span.Converged
	if l.run == nil && len(l.recs) > 0 {
		outcome = l.recs[0].ended.outcome
	}
	var failed, open *reconciliation
	for _, r := range l.recs {
		switch {
		case !r.done, r.ended.outcome == span.Unfinished && !r.ended.unseen:
			open = deeper(open, r)
		case r.ended.outcome == span.Failed && !d.overtaken(r) && !r.attempt():
			failed = deeper(failed, r)
		}
	}
	switch {
	case failed != nil:
		reason := describe(failed, failed.ended.message)
		if below := d.trouble(failed); below != "" {
			reason += ": " + below
		}
		return span.Failed, span.Bound(reason)
	case open != nil:
		reason := d.trouble(open)
		if reason == "" && open.t.last() != nil {
			reason = describe(open, waitsFor(open.t.last()))
		}
		return span.Unfinished, span.Bound(reason)
	case l.run != nil && l.run.End.IsZero():
		return span.Unfinished, "the command is still running"
	case l.run != nil:
		for _, r := range l.recs {
			if r.superseded != nil && r.parent == nil && r.ended.outcome == span.Superseded {
				return span.Superseded, span.Bound(describe(r, "replaced by a newer change"))
			}
		}
	}
	return outcome, ""
}

// overtaken reports whether the object has since been reconciled anew.
func (d *derivation) overtaken(r *reconciliation) bool {
	now := d.current(r.t.ref.UID)
	return now != r && (r.parent != nil || now.line == r.line)
}

// attempt reports whether an object above r converged after r had failed: r was an attempt, and
// another one succeeded.
func (r *reconciliation) attempt() bool {
	failed := r.failedBefore(^uint64(0))
	if failed == nil {
		return false
	}
	for p := r.parent; p != nil; p = p.parent {
		if p.done && p.ended.outcome == span.Converged && p.arrived != nil &&
			p.arrived.ResourceVersion > failed.ResourceVersion {
			return true
		}
	}
	return false
}

// deeper prefers the reconciliation further down: it is nearer to the reason.
func deeper(a, b *reconciliation) *reconciliation {
	if a == nil || b.depth() > a.depth() {
		return b
	}
	return a
}

func (r *reconciliation) depth() int {
	n := 0
	for p := r.parent; p != nil; p = p.parent {
		n++
	}
	return n
}

// trouble finds the Pod below r that cannot go on, and says why.
func (d *derivation) trouble(r *reconciliation) string {
	for _, below := range r.line.recs {
		last := below.t.last()
		if below.done && below.ended.outcome != span.Unfinished || last == nil || last.Pod == nil || !troubled(last) {
			continue
		}
		for p := below; p != nil; p = p.parent {
			if p == r {
				return describe(below, podWaitsFor(last))
			}
		}
	}
	return ""
}

func describe(r *reconciliation, message string) string {
	return r.t.ref.Kind.Kind + " " + r.t.ref.Name + ": " + message
}

// objectEvents are the Kubernetes Events on the object that are no phase of
// their own (rule L8), as span events: warnings, and what controllers tell.
func objectEvents(r *reconciliation) []span.Event {
	var out []span.Event
	last := r.t.last()
	for _, e := range r.t.events {
		if !e.of(r) {
			continue
		}
		if last != nil && last.Pod != nil && (e.FieldPath != "" || e.Type != "Warning") {
			continue // told by the Pod's phases
		}
		out = append(out, occurred(e))
	}
	return out
}
