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
