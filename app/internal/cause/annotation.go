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

// Origination is a write together with the new context on its object, or with the context of its
// request.
type Origination struct {
	*change.Write
	trace.SpanContext
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

// origination returns w with its context on the object, or nil without a valid one.
func (f *Finder) origination(w *change.Write) *Origination {
	if !w.Originates() {
		return nil
	}
	o := &Origination{Write: w, SpanContext: ParseContext(w.Version.TraceParent, w.Version.TraceState)}
	if !o.IsValid() {
		return nil
	}
	if claim, holds := lifeline.ClaimOf(o.SpanContext); holds {
		o.claim = claim
		o.admitted = claim.Names(identity(w.Timeline, w.Version.GenerateName)) && lifeline.IsAdmitted(o.SpanContext)
	}
	if owner := f.controllerOf(w); owner != nil && f.ByController(w) {
		o.owner, o.above = owner, f.Current(owner.UID)
		o.open = o.above != nil && o.above.OpenAt(w, f.options.Quiet)
	}
	return o
}

// link returns a link to the context, with the reason why.
func (o *Origination) link(why string) []span.Link {
	return []span.Link{{TraceID: o.TraceID(), SpanID: o.SpanID(), Reason: why}}
}

// below returns the cause with the parent r, for a context that leads to the reconciliation r. The
// trace of r may differ from that of the context.
func (o *Origination) below(r *change.Reconciliation) Cause {
	c := Cause{Line: r.Lineage, Parent: r, Evidence: o.evidence()}
	if o.TraceID() != r.Lineage.ID {
		c.Links = o.link(linkAnnotation)
		return c
	}
	return o.names(c)
}

// byAnnotation is rule C1, for a context that rule P4 accepts. A rejected context becomes a link.
func (f *Finder) byAnnotation(w *change.Write) (Cause, bool, []span.Link) {
	o := f.origination(w)
	if o == nil {
		return Cause{}, false, nil
	}
	if o.open && f.leads(o) {
		// Rule P2 precedes all checks of the age, since a reconciliation may be long.
		return o.below(o.above), true, nil
	}
	if why := f.foreign(o); why != "" {
		return Cause{}, false, o.link(why)
	}
	if o.begins() && f.itself(w) {
		return Cause{}, false, o.link(linkAnnotation)
	}
	l := f.known(o.TraceID())
	if o.open && f.replaced(o) {
		return Cause{}, false, o.link(linkSuperseded)
	}
	if !o.open && f.resumes(o) {
		if f.continues(o) {
			return o.below(o.above), true, nil
		}
		return Cause{}, false, o.link(linkStale)
	}
	if o.owned() {
		return Cause{}, false, o.link(linkUnverified)
	}
	if end, ended := f.Taken(o.TraceID()); ended {
		return f.byTaken(o, l, end)
	}
	if l == nil {
		return f.byOutside(o)
	}
	return f.byKnown(o, l)
}

// known returns the trace id, or nil if it is unknown or forgotten.
func (f *Finder) known(id trace.TraceID) *change.Lineage {
	l := f.Lines[id]
	if _, taken := f.Taken(id); l == nil || l.Old && !taken {
		return nil
	}
	return l
}

// byTaken is the part of rule C1 for a context of a handed-out trace. A part of the trace remains a
// part of it. For any other write before its end, the result is the same as before the handover.
func (f *Finder) byTaken(o *Origination, l *change.Lineage, end Taken) (Cause, bool, []span.Link) {
	member := end.has(o.RV)
	switch {
	case !member && o.Heard().Sub(end.Latest) >= f.options.Settle:
		return Cause{}, false, o.link(linkStale)
	case !member && o.open && end.Outside:
		return Cause{}, false, o.link(linkAnnotation)
	case !member:
		return Cause{}, false, o.link(linkUnverified)
	case l == nil:
		l = f.outsideLine(o)
	}
	return f.outside(o, l), true, nil
}

// byOutside is the part of rule C1 for a context of an unknown trace. The context is a parent from
// outside (rule L5), except in a write by the owner's controller for an owner under way. Such a
// controller has separate traces.
func (f *Finder) byOutside(o *Origination) (Cause, bool, []span.Link) {
	if o.open {
		return Cause{}, false, o.link(linkAnnotation)
	}
	return f.outside(o, f.outsideLine(o)), true, nil
}

// outsideLine adds a lineage with the trace of the context.
func (f *Finder) outsideLine(o *Origination) *change.Lineage {
	l := &change.Lineage{ID: o.TraceID()}
	f.Lines[l.ID] = l
	return l
}

// outside returns the cause of a write below a span from outside, or without a cause known to
// admission. A trace begun by the owner's controller heals a converged state (rule C3).
func (f *Finder) outside(o *Origination, l *change.Lineage) Cause {
	above := o.parent()
	c := o.names(Cause{Line: l, Above: above, Remote: above.IsValid(), Evidence: o.evidence()})
	if o.owner != nil && (o.above != nil || o.Verb == history.Created) {
		f.heal(&c, o.Write, o.above, o.owner)
	}
	return c
}

// byKnown is the part of rule C1 for a context of the known trace l. The trace must have a relation
// to the object. Either the object is already in it. Or it is from outside, and the same component,
// or the controller of the same owner, continues to write in it. A write by the owner's controller
// for an owner under way belongs to the owner.
func (f *Finder) byKnown(o *Origination, l *change.Lineage) (Cause, bool, []span.Link) {
	own := f.Current(o.Timeline.Ref.UID)
	switch {
	case !f.Alive(l, o.Write):
		return Cause{}, false, o.link(linkStale)
	case own != nil && own.Lineage == l && (!o.open || own.OpenAt(o.Write, f.options.Quiet)):
		return o.names(
			Cause{Line: l, Parent: own.Parent, Above: own.Above, Remote: own.Remote, Evidence: o.evidence()},
		), true, nil
	case o.open && l.Outside():
		return Cause{}, false, o.link(linkAnnotation)
	case o.open:
		return Cause{}, false, o.link(linkUnverified)
	case l.Outside() && l.Reconciliations[0].Akin(o.Write), l.Named(o.parent()):
		return f.outside(o, l), true, nil
	}
	return Cause{}, false, o.link(linkUnverified)
}

// leads reports whether the context is for the current work of the owner's controller. In this case
// its trace, or the linked trace in its claim, is that of the owner's reconciliation or that of the
// owner's own context.
func (f *Finder) leads(o *Origination) bool {
	for _, id := range [...]trace.TraceID{o.TraceID(), o.claim.ParentTrace} {
		if id.IsValid() && (id == o.above.Lineage.ID || id == f.carries(o.above.Timeline, o.RV)) {
			return true
		}
	}
	return false
}

// resumes reports whether the context is in the trace of the owner's convergence, possibly from
// before the start of the observer.
func (f *Finder) resumes(o *Origination) bool {
	if o.owner == nil {
		return false
	}
	if o.above != nil && o.above.Lineage.ID == o.TraceID() {
		return true
	}
	t := f.Object(o.owner.UID)
	return t != nil && t.Last() != nil && t.Last().Reconciled && f.carries(t, o.RV) == o.TraceID()
}

// continues reports whether the trace of the owner's convergence continues with the write. A
// replacement of a lost object is not part of it, but healing.
func (f *Finder) continues(o *Origination) bool {
	if o.above == nil {
		return false
	}
	if end, ended := f.Taken(o.above.Lineage.ID); ended {
		return end.has(o.RV)
	}
	return f.Alive(f.Lines[o.above.Lineage.ID], o.Write) &&
		(o.Verb != history.Created || f.lost(o.Write, o.owner) == nil)
}

// carries returns the trace of the context on the object of t just before rv, or zero.
func (f *Finder) carries(t *change.Timeline, rv uint64) trace.TraceID {
	i, _ := t.Position(rv)
	if i == 0 {
		return trace.TraceID{}
	}
	return ParseContext(t.Versions[i-1].TraceParent, "").TraceID()
}

// replaced reports whether the context is in the trace of an older, superseded desired state of the
// owner.
func (f *Finder) replaced(o *Origination) bool {
	return slices.ContainsFunc(f.History(o.owner.UID), func(r *change.Reconciliation) bool {
		return r.Superseded != nil && r.Lineage.ID == o.TraceID()
	})
}

// Alive reports whether the trace l was still open just before w: it had not ended, or had not been
// quiet for Options.Settle.
func (f *Finder) Alive(l *change.Lineage, w *change.Write) bool {
	if l == nil {
		return false
	}
	return w.At.At().Sub(l.Latest) < f.options.Settle ||
		slices.ContainsFunc(l.Reconciliations, func(r *change.Reconciliation) bool {
			if r.Verb == history.Deleted {
				return r.Timeline.Removal == nil || r.Timeline.Removal.RV >= w.RV
			}
			return r.OpenAt(w, f.options.Quiet)
		})
}

// Taken holds the remembered facts about a handed-out trace.
type Taken struct {
	// At is the time of the handover. Latest is the Latest of the lineage at that time.
	At, Latest time.Time
	// Outside means that the trace began with a context from outside.
	Outside bool
	// Originations are the resourceVersions, in order, of the writes in the trace by their
	// contexts: on their objects, or in their requests. No other write with a context of the trace
	// is part of it.
	Originations []uint64
}

// has reports whether the write with the resourceVersion rv is one of the Originations.
func (t *Taken) has(rv uint64) bool {
	_, found := slices.BinarySearch(t.Originations, rv)
	return found
}
