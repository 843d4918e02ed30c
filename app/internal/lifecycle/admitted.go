// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"iter"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/app/internal/object"
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

// owned reports whether the context is to be of the owner's trace, as admission took
// it to be: if what has been stored does not say so, it is of none.
func (o *origination) owned() bool {
	return o.admitted && o.claim.Admitted == lifeline.BasisOwner
}

// evidence is how the context's parent is known.
func (o *origination) evidence() span.Evidence {
	switch {
	case o.asked:
		return span.ByRequest
	case !o.admitted:
		return span.ByAnnotation
	case o.owned():
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

// byAdmission is rule C2 for a write that gave its object no context, as a scale
// or a deletion cannot: admission has seen which context its request carried, and
// the audit log tells it. It explains what nothing else does, and what has not been
// told without it.
func (d *derivation) byAdmission(w *write) (cause, bool, []span.Link) {
	o := d.asked(w)
	if o == nil {
		return cause{}, false, nil
	}
	l := d.known(o.TraceID())
	if end, ended := d.engine.taken[o.TraceID()]; ended {
		return d.byTaken(o, l, end)
	}
	if _, told := d.engine.taken[d.derivedID(w)]; told {
		return cause{}, false, nil
	}
	if l == nil {
		return d.byOutside(o)
	}
	return d.byKnown(o, l)
}

// asked returns the context that the request of w carried, by the audit log, if w
// put none on its object; else nil.
func (d *derivation) asked(w *write) *origination {
	if w.originates() {
		return nil
	}
	q := d.audited(w)
	if q == nil || q.TraceParent == "" {
		return nil
	}
	o := &origination{write: w, SpanContext: parseContext(q.TraceParent, ""), asked: true}
	if !o.IsValid() {
		return nil
	}
	return o
}

// Open yields the span contexts of the reconciliations that are under way, by their
// objects: what their controllers write belongs to them. Those of
// traces that Take has handed out are not among them, nor is a deletion, in which
// nothing is made. The contexts say nothing of sampling.
func (e *Engine) Open(now time.Time) iter.Seq2[object.Ref, trace.SpanContext] {
	all := e.refresh(now)
	return func(yield func(object.Ref, trace.SpanContext) bool) {
		for _, g := range all {
			for _, l := range g.derived.untaken() {
				if !l.yieldOpen(yield) {
					return
				}
			}
		}
	}
}

func (l *lineage) yieldOpen(yield func(object.Ref, trace.SpanContext) bool) bool {
	for _, r := range l.recs {
		if r.done || r.next != nil || r.verb == deleted {
			continue
		}
		sc := trace.NewSpanContext(trace.SpanContextConfig{TraceID: l.id, SpanID: r.id(), Remote: true})
		if !yield(r.t.ref, sc) {
			return false
		}
	}
	return true
}
