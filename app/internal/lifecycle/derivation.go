// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// derivation is everything concluded from one group of observations: who caused what. It is a pure
// function of the group's timelines.
type derivation struct {
	opts   Options
	now    time.Time
	engine *Engine
	// group is what it is derived from.
	group   *group
	lines   map[trace.TraceID]*lineage
	ordered []*lineage
	// until is when something that has not ended may have, if nothing is
	// observed; zero if time alone ends nothing.
	until time.Time
	// recs are each object's reconciliations, oldest first, as far as somebody
	// asked: history gives them.
	recs map[types.UID][]*reconciliation
	// roles are dependants by their roles, by the UID of the owner, as far as somebody asked.
	roles map[types.UID]map[string][]*timeline
	// censuses count them, as far as somebody asked.
	censuses map[types.UID]census
	// folded are the reconciliations with remembered names only; history adds them.
	folded []*reconciliation
	// departed are the dependants that went or are going without their
	// controller's doing, oldest first, by the controller's UID.
	departed map[types.UID][]*departure
	// stirred is the last reconciliation below an object that wrote.
	stirred map[types.UID]stirring
	// rebuilt is how objects came about that were there, if that is asked for.
	rebuilt map[*timeline]*rebuild
	// relatives are the newest reconciliations of objects to which others relate by name.
	relatives map[relative]*reconciliation
	// instants are the newest changes that held at once, by object.
	instants map[types.UID]*reconciliation
	// heartbeats are the series of changes, by object.
	heartbeats map[*timeline]*heartbeat
	// looks are the digests of the statuses that a reconciliation has shown.
	looks map[*reconciliation]map[uint64]struct{}
	// written are the writes in order of placement.
	written []*write
	// steps is memory for the phases of one Pod.
	steps []phase
	// refusals are the traces that tell of refused writes.
	refusals map[*refusal][]*lineage
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

func derive(e *Engine, g *group, now time.Time) *derivation {
	d := &derivation{
		opts: e.opts, now: now, engine: e, group: g,
		lines:      map[trace.TraceID]*lineage{},
		recs:       make(map[types.UID][]*reconciliation, len(g.members)),
		censuses:   map[types.UID]census{},
		roles:      map[types.UID]map[string][]*timeline{},
		departed:   map[types.UID][]*departure{},
		stirred:    map[types.UID]stirring{},
		relatives:  map[relative]*reconciliation{},
		looks:      map[*reconciliation]map[uint64]struct{}{},
		instants:   map[types.UID]*reconciliation{},
		heartbeats: map[*timeline]*heartbeat{},
		refusals:   map[*refusal][]*lineage{},
	}
	for id := range g.runs {
		r := e.runs[id]
		if r == nil {
			continue
		}
		d.lines[id] = &lineage{id: id, run: r, latest: later(r.Start, r.End)}
	}
	for t := range g.members {
		d.rememberLoss(t)
	}
	d.rebuildAll()
	d.written = d.writes()
	for _, w := range d.written {
		d.place(w)
	}
	d.refuse()
	d.placeRefusals()
	d.finish()
	return d
}

// holds reports whether the derivation is that of the time now, too, if nothing
// was observed since it was made.
func (d *derivation) holds(now time.Time) bool {
	return now.Equal(d.now) || now.After(d.now) && (d.until.IsZero() || !now.After(d.until))
}

// passed reports whether more than that time has passed since then. All that
// depends on the present time asks this, so that it is known how long the
// derivation holds.
func (d *derivation) passed(since time.Time, span time.Duration) bool {
	if d.now.Sub(since) > span {
		return true
	}
	if at := since.Add(span); d.until.IsZero() || at.Before(d.until) {
		d.until = at
	}
	return false
}

// writes is every write of every object, in order.
func (d *derivation) writes() []*write {
	n := 0
	for t := range d.group.members {
		n += len(t.versions) + len(t.requests) + 1
	}
	all := make([]write, 0, n)
	for t := range d.group.members {
		from := len(all)
		all = t.writes(all, d.rebuilt[t])
		all = d.engine.missed(t, all, from)
	}
	ordered := make([]*write, len(all))
	for i := range all {
		ordered[i] = &all[i]
	}
	d.loosen(ordered)
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
	if c := cmp.Compare(a.stored(), b.stored()); c != 0 || a.t == b.t {
		return c
	}
	return d.tie(a, b)
}

// depth is the number of controllers above t.
func (d *derivation) depth(t *timeline, sofar int) int {
	o := d.engine.controllerOf(t)
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
		if len(d.group.runs) == 0 {
			break
		}
		if l := d.lineOf(w); l != nil {
			l.loose = append(l.loose, w)
			l.latest = later(l.latest, w.End)
		}
	}
	for t := range d.group.members {
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
		for _, r := range l.recs {
			slices.SortFunc(r.refused, compareRefused)
		}
		slices.SortFunc(l.refused, compareRefused)
		d.ordered = append(d.ordered, l)
	}
	slices.SortFunc(d.ordered, compareLineages)
}

// history are the reconciliations of an object, oldest first; the first may be
// one that was taken and folded.
func (d *derivation) history(uid types.UID) []*reconciliation {
	recs, known := d.recs[uid]
	if t := d.engine.objects[uid]; !known && t != nil && t.past != nil {
		recs = []*reconciliation{d.remembered(t)}
		d.recs[uid] = recs
	}
	return recs
}

// current is the newest reconciliation of an object, or nil.
func (d *derivation) current(uid types.UID) *reconciliation {
	recs := d.history(uid)
	if len(recs) == 0 {
		return nil
	}
	return recs[len(recs)-1]
}

// lineOf returns the run that made the request, or nil.
func (d *derivation) lineOf(req *observation.Write) *lineage {
	if l := d.lines[runOf(req)]; l != nil && l.run != nil {
		return l
	}
	return nil
}

// runOf is the trace that the request names, zero if it names none.
func runOf(req *observation.Write) trace.TraceID { return parseContext(req.TraceParent, "").TraceID() }

// untaken are the lineages whose traces Take has not handed out, in order.
func (d *derivation) untaken() []*lineage {
	out := make([]*lineage, 0, len(d.ordered))
	for _, l := range d.ordered {
		if !d.handedOut(l) {
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
