// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"iter"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// A context that was given at admission is that of the object's reconciliation
// itself, and its claim tells what that is below; any other is of a span that
// somebody else tells of, and the reconciliation is below it.

// parent is the span outside that the reconciliation is below; zeros if there is
// none.
func (o *origination) parent() trace.SpanID {
	if o.admitted {
		return o.claim.Parent
	}
	return o.SpanID()
}

// begins reports whether the context was given by somebody who knew of nothing
// that it follows from.
func (o *origination) begins() bool {
	return o.admitted && o.claim.Admitted == lifeline.BasisNone
}

// evidence is how the context's parent is known.
func (o *origination) evidence() span.Evidence {
	switch {
	case !o.admitted:
		return span.ByAnnotation
	case o.claim.Admitted == lifeline.BasisOwner:
		return span.ByOwner
	case o.claim.Admitted == lifeline.BasisRequest:
		return span.ByRequest
	}
	return ""
}

// names notes in c, which is of the context's trace, that the reconciliation's
// span is the context's.
func (o *origination) names(c cause) cause {
	if o.admitted {
		c.span = o.SpanID()
	}
	return c
}

// admittedIn is the span of the reconciliation that w begins in the trace, if it
// was given at admission; zeros if not.
func (d *derivation) admittedIn(w *write, id trace.TraceID) trace.SpanID {
	if o := d.origination(w); o != nil && o.admitted && o.TraceID() == id {
		return o.SpanID()
	}
	return trace.SpanID{}
}

// Open yields the span contexts of the reconciliations that are under way, by the
// UIDs of their objects: what their controllers write belongs to them. Those of
// traces that Take has handed out are not among them, nor is a deletion, in which
// nothing is made. The contexts say nothing of sampling.
func (e *Engine) Open(now time.Time) iter.Seq2[types.UID, trace.SpanContext] {
	d := e.derive(now)
	return func(yield func(types.UID, trace.SpanContext) bool) {
		for _, l := range d.untaken() {
			for _, r := range l.recs {
				if r.done || r.next != nil || r.verb == deleted {
					continue
				}
				sc := trace.NewSpanContext(trace.SpanContextConfig{TraceID: l.id, SpanID: r.id(), Remote: true})
				if !yield(r.t.ref.UID, sc) {
					return
				}
			}
		}
	}
}
