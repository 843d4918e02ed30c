// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// failed reports whether r makes its trace fail. An attempt, and a failure before a later reconciliation of the
// object, do not.
func (b *Builder) failed(r *change.Reconciliation) bool {
	return r.Done && r.Ended.Outcome == span.Failed && !b.overtaken(r) && !r.Attempt()
}

// unfinished reports whether r keeps its trace from an end.
func unfinished(r *change.Reconciliation) bool {
	return !r.Done || r.Ended.Outcome == span.Unfinished && !r.Ended.Unseen
}

// Blocking returns the reconciliations that make the trace failed or unfinished, and the outcome of the trace without
// them. A reconciliation below another of them is not among them: it counts only as long as that one does.
func (b *Builder) Blocking(l *change.Lineage) ([]*change.Reconciliation, span.Outcome) {
	var out []*change.Reconciliation
	for _, r := range l.Reconciliations {
		if !b.failed(r) && !unfinished(r) {
			continue
		}
		if !slices.ContainsFunc(l.Reconciliations, func(up *change.Reconciliation) bool {
			return up != r && under(r, up) && (b.failed(up) || unfinished(up))
		}) {
			out = append(out, r)
		}
	}
	return out, b.reached(l).outcome
}
