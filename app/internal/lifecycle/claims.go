// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"slices"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Outcomes are claims (rule L10): a later version of its object may revise the end of a handed-out reconciliation.
// The new claim becomes a zero-length span below it.

// claim remembers the ends of the lineage that may be revised. The lineage has been handed out with the rest.
func (am *amendments) claim(d *derivation, l *change.Lineage, rest *change.Taken) {
	for _, r := range l.Reconciliations {
		if !r.Revisable() {
			continue
		}
		t := r.Timeline
		generation, replicas := r.Desired()
		for _, of := range t.Claims() {
			if of.TraceID == l.ID { // one object has one claim in a trace
				am.settle(t, &of)
			}
		}
		if oldest := t.Claim(&change.OutcomeClaim{
			TraceID: l.ID, SpanID: r.ID(), Number: 1, Outcome: r.Ended.Outcome, Message: r.Ended.Message,
			Generation: generation, Replicas: replicas, Verb: r.Verb, RV: r.First().RV, Parts: r.Parts,
		}); oldest != nil {
			am.settle(t, oldest)
		}
	}
	blocking, outcome := d.spans.Blocking(l)
	uids := make([]types.UID, 0, len(blocking))
	for _, r := range blocking {
		if r.Timeline.Claimed(r.ID()) == nil {
			return // the outcome of the trace is final
		}
		uids = append(uids, r.Timeline.Ref.UID)
	}
	if len(uids) > 0 {
		if rest.Blocking, rest.Outcome = uids, outcome; l.Run == nil && outcome == l.Reconciliations[0].Ended.Outcome {
			rest.Root = l.Reconciliations[0].ID()
		}
	}
}

// claims adds the new claims about the objects of a group.
func (am *amendments) claims(d *derivation) {
	var found []revised
	for t := range d.group.members {
		for _, of := range t.Claims() {
			r := d.claimed(t, &of)
			if r == nil || r.Superseded != nil || t.Removal != nil && r.Verb != history.Deleted ||
				of.Replicas > 0 && !change.WantsPods(t.Last()) {
				am.settle(t, &of)
				continue
			}
			if end, done := d.endings.Revise(r); done && of.Revises(end.Outcome) {
				found = append(found, revised{r, end})
			}
		}
	}
	slices.SortFunc(found, func(a, b revised) int {
		return cmp.Or(
			a.end.At.At().Compare(b.end.At.At().Time), cmp.Compare(a.of.Timeline.Ref.UID, b.of.Timeline.Ref.UID),
			cmp.Compare(a.of.First().RV, b.of.First().RV),
		)
	})
	for i := range found {
		am.revise(found[i].of, &found[i].end)
	}
}

// revised is a handed-out reconciliation with another end than that of its present claim.
type revised struct {
	of  *change.Reconciliation
	end change.Ending
}

// claimed returns the reconciliation of a claim about t, or nil.
func (d *derivation) claimed(t *change.Timeline, of *change.OutcomeClaim) *change.Reconciliation {
	for _, r := range d.placed.Of(t) {
		if r.ID() == of.SpanID {
			return r
		}
	}
	return nil
}

// revise adds a new claim about r.
func (am *amendments) revise(r *change.Reconciliation, end *change.Ending) {
	t := r.Timeline
	of := t.Claimed(r.ID())
	if of == nil {
		return
	}
	of.Number++
	at := end.At.At()
	s := &span.Span{
		TraceID: of.TraceID, Parent: of.SpanID,
		ID:   span.DeriveID(of.TraceID, string(t.Ref.UID), "claim", strconv.Itoa(of.Number)),
		Name: span.NameAmend, Service: change.Reconciler(t), Object: t.Ref, Start: at, End: at,
		Outcome: end.Outcome, Message: span.Bound(revisionText(of, end)),
		Attributes: []attribute.KeyValue{span.KeyClaim.Int(of.Number)},
	}
	if end.Outcome == span.Failed {
		s.Status = span.StatusError
	}
	if last := t.Last(); last != nil {
		s.Attributes = append(s.Attributes, span.KeyGeneration.Int64(last.Generation))
	}
	if o := am.outcome(t, of, end.Outcome); o != "" {
		s.Attributes = append(s.Attributes, span.KeyTraceOutcome.String(string(o)))
		if o == span.Converged {
			am.after.converges(of.TraceID, at.Time)
		}
	}
	am.add(of.TraceID, []*span.Span{s})
	of.Outcome, of.Message = end.Outcome, end.Message
	if t.Claim(of); end.Outcome != span.Failed {
		t.Settle(of.SpanID)
	}
}

// revisionText says what a new claim replaces.
func revisionText(was *change.OutcomeClaim, end *change.Ending) string {
	text := "was " + string(was.Outcome)
	if was.Message != "" && was.Message != string(was.Outcome) {
		text += ": " + was.Message
	}
	if end.Message != "" {
		text = end.Message + "; " + text
	}
	return text
}

// outcome returns the outcome of the whole trace from a new claim about t on; empty if it stays.
func (am *amendments) outcome(t *change.Timeline, of *change.OutcomeClaim, o span.Outcome) span.Outcome {
	rest, known := am.memory.taken[of.TraceID]
	if !known || rest.Blocking == nil {
		return ""
	}
	if rest.Root == of.SpanID {
		rest.Outcome = o
	}
	out := span.Outcome("")
	switch blocks := rest.Blocks(t.Ref.UID); {
	case !blocks:
	case o == span.Failed:
		out = span.Failed
	case rest.Unblock(t.Ref.UID) && len(rest.Blocking) == 0:
		if rest.Blocking = nil; rest.Outcome != span.Unfinished {
			out = rest.Outcome
		}
	}
	am.memory.taken[of.TraceID] = rest
	return out
}

// settle makes a claim about t final. The trace cannot converge any more, but it may still fail.
func (am *amendments) settle(t *change.Timeline, of *change.OutcomeClaim) {
	t.Settle(of.SpanID)
	rest, known := am.memory.taken[of.TraceID]
	if !known || !rest.Unblock(t.Ref.UID) {
		return
	}
	if rest.Root = (trace.SpanID{}); rest.Outcome != span.Failed {
		rest.Outcome = span.Unfinished
	}
	if of.Outcome == span.Failed || len(rest.Blocking) == 0 {
		rest.Blocking = nil
	}
	am.memory.taken[of.TraceID] = rest
}
