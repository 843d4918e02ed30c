// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// Lineage is a trace in the making: the effects of one change.
type Lineage struct {
	ID trace.TraceID
	// Run is the command at the root of the trace, or nil.
	Run *observation.Run
	// First is the resourceVersion of the first write. Lineages are in its order.
	First           uint64
	Reconciliations []*Reconciliation
	// Loose are the requests of the trace without a reconciliation: to objects without a
	// controller, and refused ones.
	Loose []*observation.Write
	// Refused are refused writes without a reconciliation. Vain means that the trace has nothing
	// else: the change was asked for in vain.
	Refused []Refused
	Vain    bool
	// Follows are the lineages of lost objects, healed by this one.
	Follows []*Lineage
	// Old means that only folded timelines refer to the lineage.
	Old bool
	// Latest is the time of its last write, or of the observation of that write if that is later.
	Latest time.Time
}

// Outside reports whether the trace began with a context from outside.
func (l *Lineage) Outside() bool { return len(l.Reconciliations) > 0 && l.Reconciliations[0].Remote }

// Named reports whether the span id, from outside, is a parent in the trace.
func (l *Lineage) Named(id trace.SpanID) bool {
	return slices.ContainsFunc(l.Reconciliations, func(r *Reconciliation) bool { return r.Remote && r.Above == id })
}

// Refused is a refused write, with the number of writes like it.
type Refused struct {
	*observation.Write
	// Repeats is the number of further writes like it.
	Repeats int
}
