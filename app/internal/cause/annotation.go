// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// stale is the greatest age of a context on an object as a cause (rule P4).
const stale = time.Hour

// The reasons for a link to a context on an object, instead of a parent: the values of
// lifeline.link.
const (
	// linkAnnotation is for a context from another trace than the write's, such as that of an
	// operator in link mode.
	linkAnnotation = "annotation"
	// linkStale is for a context of an ended trace, a copy of another object's context, or a
	// context older than an hour.
	linkStale = "stale"
	// linkSuperseded is for a context of a replaced desired state.
	linkSuperseded = "superseded"
	// linkUnverified is for a context of an open trace without a relation to the object.
	linkUnverified = "unverified"
)

// origination is a write together with the new context on its object, or with the context of its
// request.
type origination struct {
	write   *change.Write
	context trace.SpanContext
	// claim is the claim of the context. It is zero unless valid.
	claim lifeline.Claim
	// admitted means that the context is from admission, for this object.
	admitted bool
	// asked means that the context is from the request, and on no object.
	asked bool
	// owner is the controller owner if the write may be its controller's, or else nil. above is the
	// newest reconciliation of the owner, or nil. open means that above is under way.
	owner *object.Owner
	above *change.Reconciliation
	open  bool
}

// originationOf returns w with its context on the object, or nil without a valid one.
func originationOf(s *Scene, w *change.Write) *origination {
	if !w.Originates() {
		return nil
	}
	o := &origination{write: w, context: change.ParseContext(w.Version.TraceParent, w.Version.TraceState)}
	if !o.context.IsValid() {
		return nil
	}
	if claim, holds := lifeline.ClaimOf(o.context); holds {
		o.claim = claim
		o.admitted = claim.Names(identity(w.Timeline, w.Version.GenerateName)) && lifeline.IsAdmitted(o.context)
	}
	if owner := controllerOf(s, w); owner != nil && ByController(s, w) {
		o.owner, o.above = owner, s.Placed.Current(owner.UID)
		o.open = o.above != nil && o.above.OpenAt(w, s.options.Quiet)
	}
	return o
}

// link returns a link to the context, with the reason why.
func (o *origination) link(why string) []span.Link {
	return []span.Link{{TraceID: o.context.TraceID(), SpanID: o.context.SpanID(), Reason: why}}
}

// below returns the cause with the parent r, for a context that leads to the reconciliation r. The
// trace of r may differ from that of the context.
func (o *origination) below(r *change.Reconciliation) Cause {
	c := Cause{Line: r.Lineage, Parent: r, Evidence: o.evidence()}
	if o.context.TraceID() != r.Lineage.ID {
		c.Links = o.link(linkAnnotation)
		return c
	}
	return o.names(c)
}

// byAnnotation is rule C1, for a context that rule P4 accepts. A rejected context becomes a link.
func byAnnotation(s *Scene, w *change.Write) (Cause, bool, []span.Link) {
	o := originationOf(s, w)
	if o == nil {
		return Cause{}, false, nil
	}
	if o.open && leads(o) {
		// Rule P2 precedes all checks of the age, since a reconciliation may be long.
		return o.below(o.above), true, nil
	}
	if why := foreign(s, o); why != "" {
		return Cause{}, false, o.link(why)
	}
	if o.begins() && itself(s, w) {
		return Cause{}, false, o.link(linkAnnotation)
	}
	l := known(s, o.context.TraceID())
	if o.open && replaced(s, o) {
		return Cause{}, false, o.link(linkSuperseded)
	}
	if !o.open && resumes(s, o) {
		if continues(s, o) {
			return o.below(o.above), true, nil
		}
		return Cause{}, false, o.link(linkStale)
	}
	if o.owned() {
		return Cause{}, false, o.link(linkUnverified)
	}
	if end, ended := s.Placed.Taken(o.context.TraceID()); ended {
		return byTaken(s, o, l, end)
	}
	if l == nil {
		return byOutside(s, o)
	}
	return byKnown(s, o, l)
}

// known returns the trace id, or nil if it is unknown or forgotten.
func known(s *Scene, id trace.TraceID) *change.Lineage {
	l := s.Placed.Lines[id]
	if _, taken := s.Placed.Taken(id); l == nil || l.Old && !taken {
		return nil
	}
	return l
}

// byTaken is the part of rule C1 for a context of a handed-out trace. A part of the trace remains a
// part of it. For any other write before its end, the result is the same as before the handover.
func byTaken(s *Scene, o *origination, l *change.Lineage, end change.Taken) (Cause, bool, []span.Link) {
	member := end.Has(o.write.RV)
	switch {
	case !member && o.write.Heard().Sub(end.Latest) >= s.options.Settle:
		return Cause{}, false, o.link(linkStale)
	case !member && o.open && end.Outside:
		return Cause{}, false, o.link(linkAnnotation)
	case !member:
		return Cause{}, false, o.link(linkUnverified)
	case l == nil:
		l = &change.Lineage{ID: o.context.TraceID()}
	}
	return outside(s, o, l), true, nil
}

// byOutside is the part of rule C1 for a context of an unknown trace. The context is a parent from
// outside (rule L5), except in a write by the owner's controller for an owner under way. Such a
// controller has separate traces.
func byOutside(s *Scene, o *origination) (Cause, bool, []span.Link) {
	if o.open {
		return Cause{}, false, o.link(linkAnnotation)
	}
	return outside(s, o, &change.Lineage{ID: o.context.TraceID()}), true, nil
}

// outside returns the cause of a write below a span from outside, or without a cause known to
// admission. A trace begun by the owner's controller heals a converged state (rule C3).
func outside(s *Scene, o *origination, l *change.Lineage) Cause {
	above := o.parent()
	c := o.names(Cause{Line: l, Above: above, Remote: above.IsValid(), Evidence: o.evidence()})
	if o.owner != nil && (o.above != nil || o.write.Verb == history.Created) {
		heal(s, &c, o.write, o.above, o.owner)
	}
	return c
}

// byKnown is the part of rule C1 for a context of the known trace l. The trace must have a relation
// to the object. Either the object is already in it. Or it is from outside, and the same component,
// or the controller of the same owner, continues to write in it. A write by the owner's controller
// for an owner under way belongs to the owner.
func byKnown(s *Scene, o *origination, l *change.Lineage) (Cause, bool, []span.Link) {
	own := s.Placed.Current(o.write.Timeline.Ref.UID)
	switch {
	case !StillOpen(s, l, o.write):
		return Cause{}, false, o.link(linkStale)
	case own != nil && own.Lineage == l && (!o.open || own.OpenAt(o.write, s.options.Quiet)):
		return o.names(
			Cause{Line: l, Parent: own.Parent, Above: own.Above, Remote: own.Remote, Evidence: o.evidence()},
		), true, nil
	case o.open && l.Outside():
		return Cause{}, false, o.link(linkAnnotation)
	case o.open:
		return Cause{}, false, o.link(linkUnverified)
	case l.Outside() && l.Reconciliations[0].Akin(o.write), l.Named(o.parent()):
		return outside(s, o, l), true, nil
	}
	return Cause{}, false, o.link(linkUnverified)
}

// leads reports whether the context is for the current work of the owner's controller. In this case
// its trace, or the linked trace in its claim, is that of the owner's reconciliation or that of the
// owner's own context.
func leads(o *origination) bool {
	for _, id := range [...]trace.TraceID{o.context.TraceID(), o.claim.ParentTrace} {
		if id.IsValid() && (id == o.above.Lineage.ID || id == carries(o.above.Timeline, o.write.RV)) {
			return true
		}
	}
	return false
}

// resumes reports whether the context is in the trace of the owner's convergence, possibly from
// before the start of the observer.
func resumes(s *Scene, o *origination) bool {
	if o.owner == nil {
		return false
	}
	if o.above != nil && o.above.Lineage.ID == o.context.TraceID() {
		return true
	}
	t := s.Known.Object(o.owner.UID)
	return t != nil && t.Last() != nil && t.Last().Reconciled && carries(t, o.write.RV) == o.context.TraceID()
}

// continues reports whether the trace of the owner's convergence continues with the write. A
// replacement of a lost object is not part of it, but healing.
func continues(s *Scene, o *origination) bool {
	if o.above == nil {
		return false
	}
	if end, ended := s.Placed.Taken(o.above.Lineage.ID); ended {
		return end.Has(o.write.RV)
	}
	return StillOpen(s, s.Placed.Lines[o.above.Lineage.ID], o.write) &&
		(o.write.Verb != history.Created || lossOf(s, o.write, o.owner) == nil)
}

// carries returns the trace of the context on the object of t just before rv, or zero.
func carries(t *change.Timeline, rv uint64) trace.TraceID {
	i, _ := t.Position(rv)
	if i == 0 {
		return trace.TraceID{}
	}
	return change.ParseContext(t.Versions[i-1].TraceParent, "").TraceID()
}

// replaced reports whether the context is in the trace of an older, superseded desired state of the
// owner.
func replaced(s *Scene, o *origination) bool {
	return slices.ContainsFunc(s.Placed.History(o.owner.UID), func(r *change.Reconciliation) bool {
		return r.Superseded != nil && r.Lineage.ID == o.context.TraceID()
	})
}

// StillOpen reports whether the trace l was still open just before w: it had not ended, or had not been
// quiet for Options.Settle.
func StillOpen(s *Scene, l *change.Lineage, w *change.Write) bool {
	if l == nil {
		return false
	}
	return w.At.At().Sub(l.Latest) < s.options.Settle ||
		slices.ContainsFunc(l.Reconciliations, func(r *change.Reconciliation) bool {
			if r.Verb == history.Deleted {
				return r.Timeline.Removal == nil || r.Timeline.Removal.RV >= w.RV
			}
			return r.OpenAt(w, s.options.Quiet)
		})
}
