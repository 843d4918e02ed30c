// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"iter"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// Open yields the span contexts of the open reconciliations, each with its object. The writes of
// the object's controller belong to that reconciliation. Open leaves out traces that Take has
// handed out. It also leaves out deletions, because a deletion creates nothing. The contexts
// contain no sampling decision.
func (e *Engine) Open(now time.Time) iter.Seq2[object.Ref, trace.SpanContext] {
	all := e.refresh(now)
	return func(yield func(object.Ref, trace.SpanContext) bool) {
		for _, g := range all {
			for _, l := range g.derived.placed.Untaken() {
				if !yieldOpen(l, yield) {
					return
				}
			}
		}
	}
}

func yieldOpen(l *change.Lineage, yield func(object.Ref, trace.SpanContext) bool) bool {
	for _, r := range l.Reconciliations {
		if r.Done || r.Next != nil || r.Verb == history.Deleted {
			continue
		}
		sc := trace.NewSpanContext(trace.SpanContextConfig{TraceID: l.ID, SpanID: r.ID(), Remote: true})
		if !yield(r.Timeline.Ref, sc) {
			return false
		}
	}
	return true
}
