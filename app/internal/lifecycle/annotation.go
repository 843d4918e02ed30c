// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// stale is the age from which a context on an object starts nothing (rule P4).
const stale = time.Hour

// Why a context on an object is a link and no parent: the value of
// lifeline.link.
const (
	// linkAnnotation: it is of another trace than the one the write belongs to,
	// that of an operator in link mode for example.
	linkAnnotation = "annotation"
	// linkStale: it is of a trace that is over, of an object that this one was
	// copied from, or older than an hour.
	linkStale = "stale"
	// linkSuperseded: it was made for a desired state that has been replaced.
	linkSuperseded = "superseded"
	// linkUnverified: it names an open trace that has nothing to do with the
	// object.
	linkUnverified = "unverified"
)

// origination is a write together with the context that it put on its object, or
// that its request carried.
type origination struct {
	*write
	trace.SpanContext
	// claim is zero unless it holds.
	claim lifeline.Claim
	// admitted says that the context was given at admission, to this object.
	admitted bool
	// asked says that it is on no object: the request carried it.
	asked bool
	// owner is the controller owner, if the write may be its controller's, else
	// nil; above is the owner's newest reconciliation, nil if there is none;
	// open says that it is under way.
	owner *object.Owner
	above *reconciliation
	open  bool
}

// originates reports whether w put a context on its object. What was there
// before is no cause (rule C1), and who deletes writes no annotation.
func (w *write) originates() bool {
	return w.v != nil && w.v.TraceParent != "" && w.verb != deleted &&
		(w.prev == nil || w.prev.TraceParent != w.v.TraceParent)
}

// origination returns the context that w put on its object, or nil if there is
// none.
func (d *derivation) origination(w *write) *origination {
	if !w.originates() {
		return nil
	}
	o := &origination{write: w, SpanContext: parseContext(w.v.TraceParent, w.v.TraceState)}
	if !o.IsValid() {
		return nil
	}
	if claim, holds := lifeline.ClaimOf(o.SpanContext); holds {
		o.claim = claim
		o.admitted = claim.Names(identity(w.t, w.v.GenerateName)) && lifeline.IsAdmitted(o.SpanContext)
	}
	if owner := d.engine.controllerOf(w.t); owner != nil && d.byController(w) {
		o.owner, o.above = owner, d.current(owner.UID)
		o.open = o.above != nil && o.above.openAt(w, d.opts.Quiet)
	}
	return o
}

func (o *origination) link(why string) []span.Link {
	return []span.Link{{TraceID: o.TraceID(), SpanID: o.SpanID(), Attributes: linkReason(why)}}
}

// below is the cause of a write whose context leads to the reconciliation r,
// which may be in another trace than the context is.
func (o *origination) below(r *reconciliation) cause {
	c := cause{line: r.line, parent: r, evidence: o.evidence()}
	if o.TraceID() != r.line.id {
		c.links = o.link(linkAnnotation)
		return c
	}
	return o.names(c)
}

// byAnnotation is rule C1, as far as P4 accepts the context; one that it does
// not accept becomes a link.
func (d *derivation) byAnnotation(w *write) (cause, bool, []span.Link) {
	o := d.origination(w)
	if o == nil {
		return cause{}, false, nil
	}
	if o.open && d.leads(o) {
		// P2; before all that asks for its age: a reconciliation may be long.
		return o.below(o.above), true, nil
	}
	if why := d.foreign(o); why != "" {
		return cause{}, false, o.link(why)
	}
	if o.begins() && d.itself(w) {
		return cause{}, false, o.link(linkAnnotation)
	}
	l := d.known(o.TraceID())
	if o.open && d.replaced(o) {
		return cause{}, false, o.link(linkSuperseded)
	}
	if !o.open && d.resumes(o) {
		if d.continues(o) {
			return o.below(o.above), true, nil
		}
		return cause{}, false, o.link(linkStale)
	}
	if o.owned() {
		return cause{}, false, o.link(linkUnverified)
	}
	if end, ended := d.engine.taken[o.TraceID()]; ended {
		return d.byTaken(o, l, end)
	}
	if l == nil {
		return d.byOutside(o)
	}
	return d.byKnown(o, l)
}

// known returns the trace, or nil if it is not known or was forgotten.
func (d *derivation) known(id trace.TraceID) *lineage {
	l := d.lines[id]
	if _, taken := d.engine.taken[id]; l == nil || l.old && !taken {
		return nil
	}
	return l
}

// byTaken is for a context of a trace that was handed on. What was part of it
// stays so, and what came before it had ended is judged as it was.
func (d *derivation) byTaken(o *origination, l *lineage, end taken) (cause, bool, []span.Link) {
	member := end.has(o.rv)
	switch {
	case !member && o.heard().Sub(end.latest) >= d.opts.Settle:
		return cause{}, false, o.link(linkStale)
	case !member && o.open && end.outside:
		return cause{}, false, o.link(linkAnnotation)
	case !member:
		return cause{}, false, o.link(linkUnverified)
	case l == nil:
		l = d.outsideLine(o)
	}
	return d.outside(o, l), true, nil
}

// byOutside is for a context of a trace that is not known: an outside parent
// (rule L5), unless the owner's controller made the write for an owner under
// way. Then the controller has traces of its own.
func (d *derivation) byOutside(o *origination) (cause, bool, []span.Link) {
	if o.open {
		return cause{}, false, o.link(linkAnnotation)
	}
	return d.outside(o, d.outsideLine(o)), true, nil
}

func (d *derivation) outsideLine(o *origination) *lineage {
	l := &lineage{id: o.TraceID()}
	d.lines[l.id] = l
	return l
}

// outside is the cause of a write that a span outside made, or that nothing made
// which admission knew. The owner's
// controller that starts a trace heals what had converged (rule C3).
func (d *derivation) outside(o *origination, l *lineage) cause {
	above := o.parent()
	c := o.names(cause{line: l, above: above, remote: above.IsValid(), evidence: o.evidence()})
	if o.owner != nil && (o.above != nil || o.verb == created) {
		d.heal(&c, o.write, o.above, o.owner)
	}
	return c
}

// byKnown is for a context of the trace l, which must have to do with the
// object: the object is in that trace already, or the trace is one from outside
// in which the same component, or the same owner's controller, writes on. What
// an owner's controller writes for an owner under way belongs to the owner.
func (d *derivation) byKnown(o *origination, l *lineage) (cause, bool, []span.Link) {
	own := d.current(o.t.ref.UID)
	switch {
	case !d.alive(l, o.write):
		return cause{}, false, o.link(linkStale)
	case own != nil && own.line == l && (!o.open || own.openAt(o.write, d.opts.Quiet)):
		return o.names(
			cause{line: l, parent: own.parent, above: own.above, remote: own.remote, evidence: o.evidence()},
		), true, nil
	case o.open && l.outside():
		return cause{}, false, o.link(linkAnnotation)
	case o.open:
		return cause{}, false, o.link(linkUnverified)
	case l.outside() && l.recs[0].akin(o.write), l.named(o.parent()):
		return d.outside(o, l), true, nil
	}
	return cause{}, false, o.link(linkUnverified)
}

// leads reports whether the context was made for what its owner's controller is
// doing: it, or the context that it says it was linked to, is of the trace of the
// owner's reconciliation or of that which the owner carries.
func (d *derivation) leads(o *origination) bool {
	for _, id := range [...]trace.TraceID{o.TraceID(), o.claim.ParentTrace} {
		if id.IsValid() && (id == o.above.line.id || id == d.carries(o.above.t, o.rv)) {
			return true
		}
	}
	return false
}

// resumes reports whether the context is of the trace in which the owner had
// converged, before the observer began perhaps.
func (d *derivation) resumes(o *origination) bool {
	if o.owner == nil {
		return false
	}
	if o.above != nil && o.above.line.id == o.TraceID() {
		return true
	}
	t := d.engine.objects[o.owner.UID]
	return t != nil && t.last() != nil && t.last().Reconciled && d.carries(t, o.rv) == o.TraceID()
}

// continues reports whether the trace in which the owner had converged goes on,
// so that the write is part of it. What replaces something lost is not: that is
// healing.
func (d *derivation) continues(o *origination) bool {
	if o.above == nil {
		return false
	}
	if end, ended := d.engine.taken[o.above.line.id]; ended {
		return end.has(o.rv)
	}
	return d.alive(d.lines[o.above.line.id], o.write) && (o.verb != created || d.lost(o.write, o.owner) == nil)
}

// carries is the trace whose context the object carried just before rv.
func (d *derivation) carries(t *timeline, rv uint64) trace.TraceID {
	i, _ := t.position(rv)
	if i == 0 {
		return trace.TraceID{}
	}
	return parseContext(t.versions[i-1].TraceParent, "").TraceID()
}

// replaced reports whether the context is of the trace of an older desired
// state of the owner.
func (d *derivation) replaced(o *origination) bool {
	return slices.ContainsFunc(d.history(o.owner.UID), func(r *reconciliation) bool {
		return r.superseded != nil && r.line.id == o.TraceID()
	})
}

// alive reports whether the trace had not ended, or not been quiet for long
// enough to say so, just before w.
func (d *derivation) alive(l *lineage, w *write) bool {
	if l == nil {
		return false
	}
	return w.at.at().Sub(l.latest) < d.opts.Settle ||
		slices.ContainsFunc(l.recs, func(r *reconciliation) bool {
			if r.verb == deleted {
				return r.t.removal == nil || r.t.removal.rv >= w.rv
			}
			return r.openAt(w, d.opts.Quiet)
		})
}

// outside reports whether the trace began with a context from outside.
func (l *lineage) outside() bool { return len(l.recs) > 0 && l.recs[0].remote }

// named reports whether the span outside is a parent in the trace.
func (l *lineage) named(id trace.SpanID) bool {
	return slices.ContainsFunc(l.recs, func(r *reconciliation) bool { return r.remote && r.above == id })
}

// akin reports whether w was made by the component that began r, or to an
// object of the same owner.
func (r *reconciliation) akin(w *write) bool {
	if by := r.first().actor(); by != "" && by == w.actor() {
		return true
	}
	owners := r.t.owners()
	return slices.ContainsFunc(w.t.owners(), func(o object.Owner) bool {
		return slices.ContainsFunc(owners, func(other object.Owner) bool { return o.UID == other.UID })
	})
}
