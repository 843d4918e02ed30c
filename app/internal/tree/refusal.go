// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// refusalText returns the reason of a refused write. A webhook may omit the reason.
func refusalText(w *observation.Write) string {
	switch {
	case w.Reason == "":
		return w.Message
	case w.Message == "":
		return w.Reason
	}
	return w.Reason + ": " + w.Message
}

// RefusedSpan returns the span of a refused write, or of a write to an object that was never observed.
func RefusedSpan(r change.Refused, l *change.Lineage) *span.Span {
	s := AuditSpan(l, r.Write)
	if !r.Failed() {
		s.Outcome = unseenOutcome(r)
		return s
	}
	s.Status, s.Outcome = span.StatusError, span.Failed
	if r.Repeats > 0 {
		s.Attributes = append(s.Attributes, span.KeyRepeats.Int(r.Repeats))
	}
	return s
}

// unseenOutcome returns the outcome of a write to an object that was never observed.
func unseenOutcome(r change.Refused) span.Outcome {
	if history.RequestVerb(r.Write) == history.Deleted {
		return span.Deleted
	}
	return span.Unfinished
}
