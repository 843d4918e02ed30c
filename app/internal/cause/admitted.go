// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// A context from admission is the context of the object's reconciliation itself. Its claim names
// the parent of the reconciliation. Any other context is that of a span from another source, and
// this span is the parent.

// parent returns the parent span, from outside, of the reconciliation. It is zero if there is none.
func (o *Origination) parent() trace.SpanID {
	if o.admitted {
		return o.claim.Parent
	}
	return o.SpanID()
}

// begins reports whether the context is from admission, without a cause known to admission.
func (o *Origination) begins() bool {
	return o.admitted && o.claim.Admitted == lifeline.BasisNone
}

// owned reports whether admission placed the context in the owner's trace. If the stored versions
// do not confirm this, the context belongs to no trace.
func (o *Origination) owned() bool {
	return o.admitted && o.claim.Admitted == lifeline.BasisOwner
}

// evidence returns the evidence for the parent of the context.
func (o *Origination) evidence() span.Evidence {
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

// names returns c with the span of the context, if the context is from admission. The trace of c is
// that of the context.
func (o *Origination) names(c Cause) Cause {
	if o.admitted {
		c.Span = o.SpanID()
	}
	return c
}

// admittedIn returns the span from admission for the reconciliation begun by w, in the trace id. It
// is zero without such a span.
func (f *Finder) admittedIn(w *change.Write, id trace.TraceID) trace.SpanID {
	if o := f.origination(w); o != nil && o.admitted && o.TraceID() == id {
		return o.SpanID()
	}
	return trace.SpanID{}
}

// byAdmission is rule C2 for a write without a new context on its object, such as a scale or a
// deletion. Admission notes the context of the request in the audit log. The context counts only
// without a cause by an earlier rule, and only if the derived trace of the write has not been
// handed out.
func (f *Finder) byAdmission(w *change.Write) (Cause, bool, []span.Link) {
	o := f.Asked(w)
	if o == nil {
		return Cause{}, false, nil
	}
	l := f.known(o.TraceID())
	if end, ended := f.Taken(o.TraceID()); ended {
		return f.byTaken(o, l, end)
	}
	if _, taken := f.Taken(f.derivedID(w)); taken {
		return Cause{}, false, nil
	}
	if l == nil {
		return f.byOutside(o)
	}
	return f.byKnown(o, l)
}

// Asked returns the context in the request of w, from the audit log. It is nil without such a
// context, or if w put a context on its object.
func (f *Finder) Asked(w *change.Write) *Origination {
	if w.Originates() {
		return nil
	}
	q := f.Audited(w)
	if q == nil || q.TraceParent == "" {
		return nil
	}
	o := &Origination{Write: w, SpanContext: ParseContext(q.TraceParent, ""), asked: true}
	if !o.IsValid() {
		return nil
	}
	return o
}
