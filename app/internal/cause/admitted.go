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
func (o *origination) parent() trace.SpanID {
	if o.admitted {
		return o.claim.Parent
	}
	return o.context.SpanID()
}

// begins reports whether the context is from admission, without a cause known to admission.
func (o *origination) begins() bool {
	return o.admitted && o.claim.Admitted == lifeline.BasisNone
}

// owned reports whether admission placed the context in the owner's trace. If the stored versions
// do not confirm this, the context belongs to no trace.
func (o *origination) owned() bool {
	return o.admitted && o.claim.Admitted == lifeline.BasisOwner
}

// evidence returns the evidence for the parent of the context.
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

// names returns c with the span of the context, if the context is from admission. The trace of c is
// that of the context.
func (o *origination) names(c Cause) Cause {
	if o.admitted {
		c.Span = o.context.SpanID()
	}
	return c
}

// admittedIn returns the span from admission for the reconciliation begun by w, in the trace id. It
// is zero without such a span.
func admittedIn(s *Scene, w *change.Write, id trace.TraceID) trace.SpanID {
	if o := originationOf(s, w); o != nil && o.admitted && o.context.TraceID() == id {
		return o.context.SpanID()
	}
	return trace.SpanID{}
}

// byAdmission is rule C2 for a write without a new context on its object, such as a scale or a
// deletion. Admission notes the context of the request in the audit log. The context counts only
// without a cause by an earlier rule, and only if the derived trace of the write has not been
// handed out.
func byAdmission(s *Scene, w *change.Write) (Cause, bool, []span.Link) {
	o := asked(s, w)
	if o == nil {
		return Cause{}, false, nil
	}
	l := known(s, o.context.TraceID())
	if end, ended := s.Placed.Taken(o.context.TraceID()); ended {
		return byTaken(s, o, l, end)
	}
	if _, taken := s.Placed.Taken(derivedID(s, w)); taken {
		return Cause{}, false, nil
	}
	if l == nil {
		return byOutside(s, o)
	}
	return byKnown(s, o, l)
}

// asked returns the context in the request of w, from the audit log. It is nil without such a
// context, or if w put a context on its object.
func asked(s *Scene, w *change.Write) *origination {
	if w.Originates() {
		return nil
	}
	q := s.Trail.Audited(w)
	if q == nil || q.TraceParent == "" {
		return nil
	}
	o := &origination{write: w, context: change.ParseContext(q.TraceParent, ""), asked: true}
	if !o.context.IsValid() {
		return nil
	}
	return o
}

// IsAsked reports whether the request of w has a context, in the audit log, and w put none on its object.
func IsAsked(s *Scene, w *change.Write) bool { return asked(s, w) != nil }
