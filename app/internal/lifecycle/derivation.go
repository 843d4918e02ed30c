// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/phase"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
)

// derivation holds all conclusions from one group of observations: the causes of the writes. It
// is a pure function of the group's timelines.
type derivation struct {
	// Finder applies the rules about causes.
	*cause.Finder
	opts   Options
	now    time.Time
	engine *Engine
	// group is the source of the derivation.
	group   *group
	ordered []*change.Lineage
	// until is the earliest time of a possible end without a new observation; zero if time alone
	// ends nothing.
	until time.Time
	// recs are each object's reconciliations, oldest first. historyOf completes them on first use.
	recs map[*change.Timeline][]*change.Reconciliation
	// folded are the stand-ins for folded reconciliations. historyOf adds them.
	folded []*change.Reconciliation
	// stirred is the last write below each object, with its reconciliation.
	stirred map[*change.Timeline]stirring
	// instants are each object's instant changes, oldest first (see change.Reconciliation). Instants
	// completes them on first use.
	instants map[types.UID][]*change.Reconciliation
	// heartbeats are the series of changes, by object.
	heartbeats map[*change.Timeline]*heartbeat
	// updates are the updates of each object's fields, in order. fights are the parts of updates in
	// fights; fightsOf completes them on first use.
	updates map[*change.Timeline][]fieldUpdate
	fights  map[*change.Timeline]map[*change.Write]*change.Fight
	// reasons are the reasons of objects that have not converged. reasonOf completes them on first use.
	reasons map[*change.Timeline]reason.Reason
	// written are the writes in order of placement.
	written []*change.Write
	// steps derives the phases of one object at a time.
	steps phase.Steps
	// refusals are the traces that contain refused writes.
	refusals map[*refusal][]*change.Lineage
}

// stirring is a write below an object.
type stirring struct {
	rec *change.Reconciliation
	rv  uint64
}

func derive(e *Engine, g *group, now time.Time) *derivation {
	d := &derivation{
		opts: e.opts, now: now, engine: e, group: g,
		recs:       make(map[*change.Timeline][]*change.Reconciliation, len(g.members)),
		stirred:    map[*change.Timeline]stirring{},
		instants:   map[types.UID][]*change.Reconciliation{},
		heartbeats: map[*change.Timeline]*heartbeat{},
		updates:    map[*change.Timeline][]fieldUpdate{},
		fights:     map[*change.Timeline]map[*change.Write]*change.Fight{},
		reasons:    map[*change.Timeline]reason.Reason{},
		refusals:   map[*refusal][]*change.Lineage{},
	}
	d.steps = phase.New(d)
	d.Finder = cause.NewFinder(d, cause.Options{
		Cluster: e.opts.Cluster, Quiet: e.opts.Quiet, Settle: e.opts.Settle, Rebuild: e.opts.Rebuild,
	})
	for id := range g.runs {
		r := e.runs[id]
		if r == nil {
			continue
		}
		d.Lines[id] = &change.Lineage{ID: id, Run: r, Latest: history.Later(r.Start, r.End)}
	}
	for t := range g.members {
		d.RememberLoss(t)
	}
	d.RebuildAll(maps.Keys(g.members))
	d.written = d.writes()
	for _, w := range d.written {
		d.place(w)
		d.noteUpdate(w)
	}
	d.refuse()
	d.placeRefusals()
	d.finish()
	return d
}

// holds reports whether the derivation is also valid at the time now, without a new observation.
func (d *derivation) holds(now time.Time) bool {
	return now.Equal(d.now) || now.After(d.now) && (d.until.IsZero() || !now.After(d.until))
}

// passed reports whether more than the duration span has passed since the given time. Every
// decision that depends on the present time must call it, because it also limits the validity of
// the derivation.
func (d *derivation) passed(since time.Time, span time.Duration) bool {
	if d.now.Sub(since) > span {
		return true
	}
	if at := since.Add(span); d.until.IsZero() || at.Before(d.until) {
		d.until = at
	}
	return false
}

// writes returns all writes to all objects of the group, in order.
func (d *derivation) writes() []*change.Write {
	n := 0
	for t := range d.group.members {
		n += len(t.Versions) + len(t.Requests())
		if t.Removal != nil {
			n++
		}
	}
	all := make([]change.Write, 0, n)
	for t := range d.group.members {
		from := len(all)
		all = t.Writes(all, d.HowRebuilt(t))
		all = d.engine.missed(t, all, from)
	}
	d.align(all)
	d.adopt(all)
	d.loosen(all)
	// The sort reads a write only to order it among others of the same place. Reconstructed writes
	// come first, at place 0.
	type placed struct {
		at    uint64
		write *change.Write
	}
	places := make([]placed, len(all))
	for i := range all {
		places[i].write = &all[i]
		if !all[i].Reconstructed {
			places[i].at = all[i].Stored()
		}
	}
	slices.SortFunc(places, func(a, b placed) int {
		if c := cmp.Compare(a.at, b.at); c != 0 {
			return c
		}
		return d.order(a.write, b.write)
	})
	ordered := make([]*change.Write, len(all))
	for i := range places {
		ordered[i] = places[i].write
	}
	return ordered
}

// order compares writes of the same place. Reconstructed writes come first, and those of owners come
// before those of dependants.
func (d *derivation) order(a, b *change.Write) int {
	switch {
	case a.Reconstructed && !b.Reconstructed:
		return -1
	case b.Reconstructed && !a.Reconstructed:
		return 1
	case a.Timeline != b.Timeline:
		if c := cmp.Compare(d.depth(a.Timeline, 0), d.depth(b.Timeline, 0)); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(a.Timeline.Ref.UID, b.Timeline.Ref.UID), cmp.Compare(a.Verb, b.Verb))
}

// depth is the number of controllers above t.
func (d *derivation) depth(t *change.Timeline, sofar int) int {
	o := d.engine.controllerOf(t)
	if o == nil || sofar > 16 {
		return sofar
	}
	if up := d.Object(o.UID); up != nil {
		return d.depth(up, sofar+1)
	}
	return sofar + 1
}

// refuse places the failed requests. They stored nothing.
func (d *derivation) refuse() {
	for _, w := range d.engine.refused {
		if len(d.group.runs) == 0 {
			break
		}
		if l := d.lineOf(w); l != nil {
			l.Loose = append(l.Loose, w)
			l.Latest = history.Later(l.Latest, w.End)
		}
	}
	for t := range d.group.members {
		for _, w := range t.Requests() {
			if l := d.lineOf(w); l != nil && w.Failed() {
				l.Loose = append(l.Loose, w)
				l.Latest = history.Later(l.Latest, w.End)
			}
		}
	}
}

// Conclude derives the end of r, if r has ended.
func (d *derivation) Conclude(r *change.Reconciliation) {
	if !r.Concluded {
		r.Concluded = true
		r.Ended, r.Done = d.endOf(r)
	}
}

// finish sorts the results and derives the ends of the reconciliations.
func (d *derivation) finish() {
	for _, l := range d.Lines {
		for _, r := range l.Reconciliations {
			d.Conclude(r)
		}
		slices.SortFunc(l.Loose, func(a, b *observation.Write) int {
			return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.TraceParent, b.TraceParent))
		})
		for _, r := range l.Reconciliations {
			slices.SortFunc(r.Refused, compareRefused)
		}
		slices.SortFunc(l.Refused, compareRefused)
		d.ordered = append(d.ordered, l)
	}
	slices.SortFunc(d.ordered, compareLineages)
}

// History returns the reconciliations of an object, oldest first. The first one may be a stand-in
// for a handed-out and folded one.
func (d *derivation) History(uid types.UID) []*change.Reconciliation {
	if t := d.Object(uid); t != nil {
		return d.historyOf(t)
	}
	return nil
}

// historyOf is History for the object of t.
func (d *derivation) historyOf(t *change.Timeline) []*change.Reconciliation {
	recs, known := d.recs[t]
	if !known && t.Past != nil {
		recs = []*change.Reconciliation{d.remembered(t)}
		d.recs[t] = recs
	}
	return recs
}

// Current returns the newest reconciliation of an object, or nil.
func (d *derivation) Current(uid types.UID) *change.Reconciliation {
	return newest(d.History(uid))
}

func newest(recs []*change.Reconciliation) *change.Reconciliation {
	if len(recs) == 0 {
		return nil
	}
	return recs[len(recs)-1]
}

// lineOf returns the lineage of the command that made the request, or nil.
func (d *derivation) lineOf(req *observation.Write) *change.Lineage {
	if l := d.Lines[runOf(req)]; l != nil && l.Run != nil {
		return l
	}
	return nil
}

// runOf returns the trace ID in the context of the request, or zero.
func runOf(req *observation.Write) trace.TraceID {
	return cause.ParseContext(req.TraceParent, "").TraceID()
}

// untaken returns the lineages that Take has not handed out, in order.
func (d *derivation) untaken() []*change.Lineage {
	out := make([]*change.Lineage, 0, len(d.ordered))
	for _, l := range d.ordered {
		if !d.handedOut(l) {
			out = append(out, l)
		}
	}
	return out
}

// related returns the lineage, and the lineages that follow from it by healing, in order.
func (d *derivation) related(id trace.TraceID) []*change.Lineage {
	l := d.Lines[id]
	if l == nil {
		return nil
	}
	out, found := []*change.Lineage{l}, map[*change.Lineage]bool{l: true}
	for _, other := range d.ordered {
		if !found[other] && slices.ContainsFunc(other.Follows, func(f *change.Lineage) bool { return found[f] }) {
			out, found[other] = append(out, other), true
		}
	}
	return out
}
