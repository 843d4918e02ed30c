// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
)

// place finds the reconciliation that w belongs to, or begins one.
func (d *derivation) place(w *write) {
	switch {
	case w.part == desired && w.verb == updated && kind.Of(w.t.ref.Group, w.t.ref.Kind.Kind).Immediate:
		d.placeMetadata(w)
	case w.part == desired && d.reconciled(w):
		d.placeDesired(w)
	case w.part == desired:
		d.placeData(w)
	case w.part == metadata && d.reconciled(w):
		d.placeMetadata(w)
	case w.part == metadata:
		d.placeData(w)
	default:
		d.placeNote(w)
	}
	if w.verb != removed {
		d.lose(w)
	}
}

// reconciled reports whether somebody acts on the object that w wrote.
func (d *derivation) reconciled(w *write) bool {
	if w.verb == deleted && (w.v != nil || len(d.engine.dependantsOf(w.t.ref.UID)) > 0) {
		return true // it goes in steps, or takes others with it
	}
	if last := w.t.last(); last != nil {
		return last.Reconciled
	}
	return w.req != nil
}

func (d *derivation) placeDesired(w *write) {
	c := d.cause(w)
	now := d.current(w.t.ref.UID)
	if same := d.inLine(w, c.line); same != nil {
		same.wrote(w)
		same.took |= w.parts()
		same.parts |= w.parts()
		same.links = append(same.links, c.links...)
		d.takeOver(w, same)
		d.stir(same, w)
		return
	}
	r := &reconciliation{
		t: w.t, line: c.line, parent: c.parent, above: c.above, remote: c.remote,
		evidence: c.evidence, links: c.links, heals: c.heals, verb: w.verb,
		spanID: c.span, admitted: c.span.IsValid(), took: w.parts(), parts: w.parts(),
	}
	r.wrote(w)
	if now != nil {
		now.next = w
		before := now.superseded == nil && now.line != r.line
		if beside := d.takeOver(w, r); before && !slices.Contains(beside, now) {
			r.links = append(r.links, now.link("previous"))
		}
	}
	if len(r.line.recs) == 0 {
		r.line.first = w.rv
	}
	r.line.recs = append(r.line.recs, r)
	if r.parent != nil {
		r.parent.children = append(r.parent.children, r)
	}
	for p := r.parent; p != nil; p = p.parent {
		if first := p.first(); first.rv < w.rv {
			first.at = first.at.before(w.at.hi) // a cause comes first, whatever arrived first (rule T)
		}
	}
	d.recs[w.t.ref.UID] = append(d.history(w.t.ref.UID), r)
	d.relate(r)
	d.stir(r, w)
}

// inLine returns the reconciliation of the trace l that an update or creation continues, or nil.
func (d *derivation) inLine(w *write, l *lineage) *reconciliation {
	if w.verb == deleted {
		return nil
	}
	for _, r := range slices.Backward(d.history(w.t.ref.UID)) {
		if r.line == l && r.verb != deleted && r.superseded == nil {
			return r
		}
		if r.verb == deleted {
			break
		}
	}
	return nil
}

// placeMetadata places a change of labels or annotations alone. It is a change of its own beside the
// object's reconciliation, which goes on (rule D2). A controller's is a step of that (rule N3).
func (d *derivation) placeMetadata(w *write) {
	now, run := d.current(w.t.ref.UID), d.lineOfWrite(w)
	switch {
	case run == nil && d.metadataStep(w):
		w.part = bookkeeping
		if from := d.copied(w); from != nil {
			from.note(w)
			return
		}
		d.placeNote(w)
		return
	case run != nil && (now == nil || now.line != run):
		d.placeRequest(w)
		return
	}
	if d.inSeries(w) {
		w.fate = repeated
		return
	}
	c := d.cause(w)
	if now != nil && now.line == c.line && now.verb != deleted && now.superseded == nil {
		now.wrote(w)
		now.links = append(now.links, c.links...)
		d.stir(now, w)
		return
	}
	d.beginInstant(w, c)
}

// beginInstant begins the reconciliation of a change that holds as soon as it is stored.
func (d *derivation) beginInstant(w *write, c cause) {
	r := &reconciliation{
		t: w.t, line: c.line, parent: c.parent, above: c.above, remote: c.remote, evidence: c.evidence,
		links: c.links, heals: c.heals, verb: w.verb, spanID: c.span,
		admitted: c.span.IsValid(), instant: true,
	}
	r.wrote(w)
	if len(r.line.recs) == 0 {
		r.line.first = w.rv
	}
	r.line.recs = append(r.line.recs, r)
	if r.parent != nil {
		r.parent.children = append(r.parent.children, r)
	}
	r.line.latest = later(r.line.latest, w.heard())
	d.instants[w.t.ref.UID] = r
	d.beginSeries(r)
}

// copied returns the change of the owner's labels or annotations that its controller copied with w, or
// nil.
func (d *derivation) copied(w *write) *reconciliation {
	o := d.engine.controllerOf(w.t)
	if o == nil {
		return nil
	}
	from := d.instants[o.UID]
	if from == nil || !d.alive(from.line, w) || !slices.ContainsFunc(w.changed.paths, func(path string) bool {
		return slices.Contains(from.first().changed.paths, path)
	}) {
		return nil
	}
	return from
}

// lineOfWrite returns the run whose request made the write, or nil.
func (d *derivation) lineOfWrite(w *write) *lineage {
	if w.req == nil {
		return nil
	}
	return d.lineOf(w.req)
}

// metadataStep reports whether a component of the control plane, the kubelet, the owner's controller
// or the object's own changed the metadata.
func (d *derivation) metadataStep(w *write) bool {
	if kind.IsComponent(w.manager) || ownController(w) {
		return true
	}
	return w.manager != "" && d.engine.controllerOf(w.t) != nil && d.byController(w)
}

// placeData places a write to an object that nobody reconciles. It is a step of the reconciliation
// that made it, if there is one. Otherwise it is a change, unless a component of Kubernetes made it.
func (d *derivation) placeData(w *write) {
	if w.req != nil && d.placeRequest(w) {
		return
	}
	if up := d.dataCause(w); up != nil {
		up.note(w)
		return
	}
	switch {
	case kind.IsComponent(w.manager), w.isDefault(), d.surplusHistory(w):
	case d.inSeries(w):
		w.fate = repeated
	default:
		d.beginInstant(w, d.cause(w))
	}
}

// dataCause returns the reconciliation of another object that made a write to an object that nobody
// reconciles, or nil.
func (d *derivation) dataCause(w *write) *reconciliation {
	if up := d.openOwner(w); up != nil && (up.verb != deleted || w.verb != updated) && d.byController(w) {
		return up
	}
	if d.surplusHistory(w) {
		return d.current(d.engine.controllerOf(w.t).UID)
	}
	if w.verb == deleted {
		c, _ := d.byOwnersEnd(w)
		return c.parent
	}
	return d.namespaceDefault(w)
}

// surplusHistory reports whether w removes a revision that its owner keeps no longer.
func (d *derivation) surplusHistory(w *write) bool {
	return w.verb == deleted && kind.ControllerRevision.Is(w.t.ref.Kind) && d.engine.controllerOf(w.t) != nil &&
		d.byController(w)
}

// placeRequest makes a write whose request was seen a span of its own, in the
// trace that the request names; false if it names none.
func (d *derivation) placeRequest(w *write) bool {
	l := d.lineOf(w.req)
	if l == nil {
		return false
	}
	w.fate = traced
	l.loose = append(l.loose, w.req)
	l.latest = later(l.latest, w.req.End)
	return true
}

// placeNote places a write to status or bookkeeping: it belongs to the
// reconciliation it is part of, or, once that has converged, to the one below
// that made the owner speak up.
func (d *derivation) placeNote(w *write) {
	if w.req != nil && d.placeRequest(w) {
		return
	}
	r := d.underWay(w)
	if w.part == ownership {
		if up := d.ownershipCause(w); up != nil {
			up.note(w)
			d.stir(up, w)
			return
		}
	}
	var arrived *version
	if r != nil && r.verb != deleted {
		arrived = r.convergedBy(w.rv)
	}
	if r == nil || arrived != nil {
		if up := d.openOwner(w); up != nil && w.part == bookkeeping && d.byController(w) {
			// Its owner's controller prepares it: a revision, a hash.
			up.note(w)
			d.stir(up, w)
			return
		}
		if below := d.stirred[w.t.ref.UID]; below.rec != nil && (arrived == nil || below.rv > arrived.ResourceVersion) {
			r = below.rec
		}
	}
	if r == nil {
		return
	}
	r.note(w)
	if r.t != w.t || opaque(w.t) && w.v != nil && converged(w.v) {
		// A status that says nothing new keeps nobody busy.
		r.line.latest = later(r.line.latest, w.heard())
		return
	}
	d.stir(r, w)
}

// underWay returns the newest reconciliation of the object that had not ended before w, else the newest.
func (d *derivation) underWay(w *write) *reconciliation {
	recs := d.history(w.t.ref.UID)
	for _, r := range slices.Backward(recs) {
		if r.openAt(w, d.opts.Quiet) {
			return r
		}
	}
	return d.current(w.t.ref.UID)
}

// stir notes that r wrote: its ancestors are alive, and what its owners say
// next may be about it.
func (d *derivation) stir(r *reconciliation, w *write) {
	at := w.at.at().Time
	r.line.latest = later(r.line.latest, w.heard())
	progress := d.progresses(r, w)
	for p := r; p != nil; p = p.parent {
		p.activity = later(p.activity, at)
		if progress {
			p.progressed = later(p.progressed, w.heard())
		}
	}
	t := w.t
	for range 16 {
		o := d.engine.controllerOf(t)
		if o == nil {
			return
		}
		d.stirred[o.UID] = stirring{r, w.rv}
		if t = d.engine.objects[o.UID]; t == nil {
			return
		}
	}
}

// lose remembers a dependant that went, or failed for good, without its
// controller's doing: its replacement will be healing (rule C3).
func (d *derivation) lose(w *write) {
	o := d.engine.controllerOf(w.t)
	if o == nil || kind.Of(o.Group, o.Kind.Kind).Schedule {
		return
	}
	failed := w.part == observed && w.v != nil && w.prev != nil && failure(w.v) != "" && failure(w.prev) == ""
	if w.verb != deleted && !failed {
		return
	}
	r := d.current(w.t.ref.UID)
	if w.verb == deleted && r != nil && r.verb == deleted && r.parent != nil && r.parent.t.ref.UID == o.UID {
		return // its controller took it away
	}
	for _, known := range d.departed[o.UID] {
		if known.t == w.t {
			return
		}
	}
	d.departed[o.UID] = append(d.departed[o.UID], &departure{
		t: w.t, rv: w.rv, rec: r, replaced: w.t.past != nil && w.t.past.replaced,
	})
}
