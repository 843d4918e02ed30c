// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"slices"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
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
		am.settle(r.Timeline)
		r.Timeline.Revisable = &change.Revisable{
			TraceID: l.ID, SpanID: r.ID(), Number: 1, Outcome: r.Ended.Outcome, Message: r.Ended.Message,
			Wanted: change.WantsPods(r.Timeline.Last()),
		}
	}
	blocking, outcome := d.spans.Blocking(l)
	uids := make([]types.UID, 0, len(blocking))
	for _, r := range blocking {
		if of := r.Timeline.Revisable; of == nil || of.SpanID != r.ID() {
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
		of := t.Revisable
		if of == nil {
			continue
		}
		r := d.claimed(t)
		if r == nil || r.Superseded != nil || t.Removal != nil && r.Verb != history.Deleted ||
			of.Wanted && !change.WantsPods(t.Last()) {
			am.settle(t)
			continue
		}
		if end, done := d.endings.Revise(r); done && of.Revises(end.Outcome) {
			found = append(found, revised{r, end})
		}
	}
	slices.SortFunc(found, func(a, b revised) int {
		return cmp.Or(
			a.end.At.At().Compare(b.end.At.At().Time), cmp.Compare(a.of.Timeline.Ref.UID, b.of.Timeline.Ref.UID),
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

// claimed returns the reconciliation of the claim about t, or nil.
func (d *derivation) claimed(t *change.Timeline) *change.Reconciliation {
	for _, r := range d.placed.Of(t) {
		if r.ID() == t.Revisable.SpanID {
			return r
		}
	}
	return nil
}

// revise adds a new claim about r.
func (am *amendments) revise(r *change.Reconciliation, end *change.Ending) {
	t := r.Timeline
	of := *t.Revisable
	of.Number++
	at := end.At.At()
	s := &span.Span{
		TraceID: of.TraceID, Parent: of.SpanID,
		ID:   span.DeriveID(of.TraceID, string(t.Ref.UID), "claim", strconv.Itoa(of.Number)),
		Name: span.NameAmend, Service: change.Reconciler(t), Object: t.Ref, Start: at, End: at,
		Outcome: end.Outcome, Message: span.Bound(revisionText(&of, end)),
		Attributes: []attribute.KeyValue{span.KeyClaim.Int(of.Number)},
	}
	if end.Outcome == span.Failed {
		s.Status = span.StatusError
	}
	if last := t.Last(); last != nil {
		s.Attributes = append(s.Attributes, span.KeyGeneration.Int64(last.Generation))
	}
	if o := am.outcome(r, end.Outcome); o != "" {
		s.Attributes = append(s.Attributes, span.KeyTraceOutcome.String(string(o)))
	}
	am.add(of.TraceID, []*span.Span{s})
	of.Outcome, of.Message = end.Outcome, end.Message
	if t.Revisable = &of; end.Outcome != span.Failed {
		t.Revisable = nil
	}
}

// revisionText says what a new claim replaces.
func revisionText(was *change.Revisable, end *change.Ending) string {
	text := "was " + string(was.Outcome)
	if was.Message != "" && was.Message != string(was.Outcome) {
		text += ": " + was.Message
	}
	if end.Message != "" {
		text = end.Message + "; " + text
	}
	return text
}

// outcome returns the outcome of the whole trace of r from a new claim about r on; empty if it stays.
func (am *amendments) outcome(r *change.Reconciliation, o span.Outcome) span.Outcome {
	of := r.Timeline.Revisable
	rest, known := am.memory.taken[of.TraceID]
	if !known || rest.Blocking == nil {
		return ""
	}
	if rest.Root == of.SpanID {
		rest.Outcome = o
	}
	out := span.Outcome("")
	switch blocks := rest.Blocks(r.Timeline.Ref.UID); {
	case !blocks:
	case o == span.Failed:
		out = span.Failed
	case rest.Unblock(r.Timeline.Ref.UID) && len(rest.Blocking) == 0:
		out, rest.Blocking = rest.Outcome, nil
	}
	am.memory.taken[of.TraceID] = rest
	return out
}

// settle makes the present claim about t final, and with it the outcome of its trace.
func (am *amendments) settle(t *change.Timeline) {
	of := t.Revisable
	if of == nil {
		return
	}
	t.Revisable = nil
	if rest, known := am.memory.taken[of.TraceID]; known && rest.Unblock(t.Ref.UID) {
		rest.Blocking = nil
		am.memory.taken[of.TraceID] = rest
	}
}
