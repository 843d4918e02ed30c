// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/ending"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/trail"
	"github.com/kube-lifeline/lifeline/app/internal/tree"
)

// forgetRefusals forgets the refusals that were handed out, and the old ones without a trace. It
// reports whether anything changed.
func (k *retention) forgetRefusals(d *derivation, now time.Time) bool {
	of := func(r *trail.Refusal) (traces, out int, alone bool) {
		all := d.refusals.Traces(r)
		for _, l := range all {
			if _, taken := k.memory.taken[l.ID]; taken {
				out++
				alone = alone || l.Vain
			}
		}
		return len(all), out, alone
	}
	anything := false
	for id := range d.group.refusals {
		changed, left := k.trail.ForgetRefusals(id, now, of, k.late.refusals(k.opts.Cluster))
		if !left {
			delete(d.group.refusals, id)
		}
		anything = anything || changed
	}
	return anything
}

// refusedAgain adds another request of a refusal to the trace that was handed out.
func (am *amendments) refusedAgain(of *trail.Refusal, w *observation.Write) {
	l := &change.Lineage{ID: ending.RefusedID(am.opts.Cluster, of)}
	s := tree.RefusedSpan(change.Refused{Write: w}, l)
	s.Attributes = append(s.Attributes, span.KeyLate.Bool(true))
	am.add(l.ID, []*span.Span{s})
}

// refusals returns a function that adds the number of further requests of a refusal to its trace.
func (am *amendments) refusals(cluster string) func(*trail.Refusal) {
	return func(of *trail.Refusal) {
		l := &change.Lineage{ID: ending.RefusedID(cluster, of)}
		root, further := tree.RefusedSpan(change.Refused{Write: of.Writes[0]}, l), of.Further()
		am.facts = append(am.facts, amendment{
			ref: root.Object, service: root.Service, past: change.Past{TraceID: l.ID, SpanID: root.ID},
			key: "refused/" + further.AuditID, at: of.Last, write: further, repeats: int64(of.Repeats),
		})
	}
}
