// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// derivation is everything concluded from one set of observations: who caused
// what. It is a pure function of the engine's timelines.
type derivation struct {
	opts    Options
	now     time.Time
	engine  *Engine
	lines   map[trace.TraceID]*lineage
	ordered []*lineage
	// recs are each object's reconciliations, oldest first.
	recs map[types.UID][]*reconciliation
	// dependants are the objects that name an owner, by the owner's UID.
	dependants map[types.UID][]*timeline
	// censuses count them, as far as somebody asked.
	censuses map[types.UID]census
	// departed are the dependants that went or are going without their
	// controller's doing, oldest first, by the controller's UID.
	departed map[types.UID][]*departure
	// stirred is the last reconciliation below an object that wrote.
	stirred map[types.UID]stirring
	// namespaces are the UIDs of Namespaces, by name, that are going.
	namespaces map[string]types.UID
}

// stirring is a write below an object.
type stirring struct {
	rec *reconciliation
	rv  uint64
}

// departure is a dependant lost, which its controller may replace.
type departure struct {
	t        *timeline
	rv       uint64
	rec      *reconciliation
	replaced bool
}

func derive(e *Engine, now time.Time) *derivation {
	d := &derivation{
		opts: e.opts, now: now, engine: e,
		lines:      map[trace.TraceID]*lineage{},
		recs:       make(map[types.UID][]*reconciliation, len(e.objects)),
		dependants: map[types.UID][]*timeline{},
		censuses:   map[types.UID]census{},
		departed:   map[types.UID][]*departure{},
		stirred:    map[types.UID]stirring{},
		namespaces: map[string]types.UID{},
	}
	for id, r := range e.runs {
		d.lines[id] = &lineage{id: id, run: r, latest: later(r.Start, r.End)}
	}
	for _, t := range e.objects {
		for _, o := range t.owners() {
			d.dependants[o.UID] = append(d.dependants[o.UID], t)
		}
		if t.past != nil {
			d.remember(t)
		}
	}
	for _, w := range d.history() {
		d.place(w)
	}
	d.refuse()
	d.finish()
	return d
}

// history is every write of every object, in order.
func (d *derivation) history() []*write {
	n := 0
	for _, t := range d.engine.objects {
		n += len(t.versions) + len(t.requests) + 1
	}
	all := make([]write, 0, n)
	for _, t := range d.engine.objects {
		all = t.writes(all)
	}
	ordered := make([]*write, len(all))
	for i := range all {
		ordered[i] = &all[i]
	}
	slices.SortFunc(ordered, func(a, b *write) int {
		if c := d.order(a, b); c != 0 {
			return c
		}
		return cmp.Or(cmp.Compare(a.t.ref.UID, b.t.ref.UID), cmp.Compare(a.verb, b.verb))
	})
	return ordered
}

// order sorts writes as they were stored. Reconstructed ones come first, owners
// before dependants.
func (d *derivation) order(a, b *write) int {
	if a.reconstructed != b.reconstructed {
		if a.reconstructed {
			return -1
		}
		return 1
	}
	if a.reconstructed {
		return cmp.Compare(d.depth(a.t, 0), d.depth(b.t, 0))
	}
	return cmp.Compare(a.rv, b.rv)
}

// depth is the number of controllers above t.
func (d *derivation) depth(t *timeline, sofar int) int {
	o := object.ControllerOf(t.owners())
	if o == nil || sofar > 16 {
		return sofar
	}
	if up := d.engine.objects[o.UID]; up != nil {
		return d.depth(up, sofar+1)
	}
	return sofar + 1
}

// place finds the reconciliation that w belongs to, or begins one.
func (d *derivation) place(w *write) {
	switch {
	case w.part == desired && d.reconciled(w):
		d.placeDesired(w)
	case w.part == desired:
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
	if w.verb == deleted && (w.v != nil || len(d.dependants[w.t.ref.UID]) > 0) {
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
	if now != nil && now.line == c.line && now.verb != deleted && w.verb != deleted && now.superseded == nil {
		now.writes = append(now.writes, w)
		now.links = append(now.links, c.links...)
		d.stir(now, w)
		return
	}
	r := &reconciliation{
		t: w.t, line: c.line, parent: c.parent, above: c.above, remote: c.remote,
		evidence: c.evidence, links: c.links, heals: c.heals, verb: w.verb, writes: []*write{w},
	}
	if now != nil && now.superseded == nil {
		if now.verb != deleted && now.convergedBy(w.rv) == nil {
			now.superseded = w
			now.line.latest = later(now.line.latest, w.heard())
		}
		if now.line != r.line {
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
	d.recs[w.t.ref.UID] = append(d.recs[w.t.ref.UID], r)
	if w.verb == deleted && w.t.ref.Is("", "Namespace") {
		d.namespaces[w.t.ref.Name] = w.t.ref.UID
	}
	d.stir(r, w)
}

// placeData places a write to an object that nobody reconciles: it is a span if
// its request was seen, a note on what caused it otherwise, and else nothing.
func (d *derivation) placeData(w *write) {
	if w.req != nil {
		if l := d.lineOf(w.req); l != nil {
			l.loose = append(l.loose, w.req)
			l.latest = later(l.latest, w.req.End)
		}
		return
	}
	owner := d.openOwner(w)
	if owner == nil && w.verb == deleted {
		owner = d.endingNamespace(w)
	}
	if owner != nil {
		owner.notes = append(owner.notes, w)
	}
}

// placeNote places a write to status or bookkeeping: it belongs to the
// reconciliation it is part of, or, once that has converged, to the one below
// that made the owner speak up.
func (d *derivation) placeNote(w *write) {
	r := d.current(w.t.ref.UID)
	if w.part == ownership {
		if up := d.ownershipCause(w); up != nil {
			up.notes = append(up.notes, w)
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
			up.notes = append(up.notes, w)
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
	r.notes = append(r.notes, w)
	if r.t != w.t || opaque(w.t) && w.v != nil && converged(w.v) {
		// A status that says nothing new keeps nobody busy.
		r.line.latest = later(r.line.latest, w.heard())
		return
	}
	d.stir(r, w)
}

// stir notes that r wrote: its ancestors are alive, and what its owners say
// next may be about it.
func (d *derivation) stir(r *reconciliation, w *write) {
	at := w.at.at().Time
	r.line.latest = later(r.line.latest, w.heard())
	for p := r; p != nil; p = p.parent {
		p.activity = later(p.activity, at)
	}
	t := w.t
	for range 16 {
		o := object.ControllerOf(t.owners())
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
	o := object.ControllerOf(w.t.owners())
	if o == nil {
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

// refuse places the requests that stored nothing: failed ones.
func (d *derivation) refuse() {
	for _, w := range d.engine.refused {
		if l := d.lineOf(w); l != nil {
			l.loose = append(l.loose, w)
			l.latest = later(l.latest, w.End)
		}
	}
	for _, t := range d.engine.objects {
		for _, w := range t.requests {
			if l := d.lineOf(w); l != nil && w.Failed() {
				l.loose = append(l.loose, w)
				l.latest = later(l.latest, w.End)
			}
		}
	}
}

// conclude ends r if it has ended.
func (d *derivation) conclude(r *reconciliation) {
	if !r.concluded {
		r.concluded = true
		r.ended, r.done = r.end(d)
	}
}

// finish orders what was found and ends what has ended.
func (d *derivation) finish() {
	for _, l := range d.lines {
		for _, r := range l.recs {
			d.conclude(r)
		}
		slices.SortFunc(l.loose, func(a, b *observation.Write) int {
			return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.TraceParent, b.TraceParent))
		})
		d.ordered = append(d.ordered, l)
	}
	slices.SortFunc(d.ordered, func(a, b *lineage) int {
		return cmp.Or(cmp.Compare(a.first, b.first), slices.Compare(a.id[:], b.id[:]))
	})
}

// current is the newest reconciliation of an object, or nil.
func (d *derivation) current(uid types.UID) *reconciliation {
	recs := d.recs[uid]
	if len(recs) == 0 {
		return nil
	}
	return recs[len(recs)-1]
}

// lineOf returns the run that made the request, or nil.
func (d *derivation) lineOf(req *observation.Write) *lineage {
	sc := parseContext(req.TraceParent, "")
	if l := d.lines[sc.TraceID()]; sc.IsValid() && l != nil && l.run != nil {
		return l
	}
	return nil
}

// untaken are the lineages whose traces Take has not handed out, in order.
func (d *derivation) untaken() []*lineage {
	out := make([]*lineage, 0, len(d.ordered))
	for _, l := range d.ordered {
		if _, taken := d.engine.taken[l.id]; !taken {
			out = append(out, l)
		}
	}
	return out
}

// related returns the lineage and those that heal after it, in order.
func (d *derivation) related(id trace.TraceID) []*lineage {
	l := d.lines[id]
	if l == nil {
		return nil
	}
	out, found := []*lineage{l}, map[*lineage]bool{l: true}
	for _, other := range d.ordered {
		if !found[other] && slices.ContainsFunc(other.follows, func(f *lineage) bool { return found[f] }) {
			out, found[other] = append(out, other), true
		}
	}
	return out
}

// link points at r from another trace.
func (r *reconciliation) link(why string) span.Link {
	return span.Link{TraceID: r.line.id, SpanID: r.id(), Attributes: linkReason(why)}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
