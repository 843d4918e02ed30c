// SPDX-License-Identifier: Apache-2.0

// Package placed holds the reconciliations and the traces that the writes of a group of objects have made so far.
package placed

import (
	"cmp"
	"maps"
	"slices"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/index"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// Changes are the reconciliations by object, and the traces. Those that were handed out and forgotten have
// stand-ins.
type Changes struct {
	known index.View
	opts  change.Options
	// taken are the traces that were handed out.
	taken map[trace.TraceID]change.Taken
	// Lines are the traces by ID. Ordered has them in order, once all writes are placed.
	Lines   map[trace.TraceID]*change.Lineage
	Ordered []*change.Lineage
	// Written are the writes in order of placement.
	Written []*change.Write
	// recs are each object's reconciliations, oldest first. Of completes them on first use.
	recs map[*change.Timeline][]*change.Reconciliation
	// folded are the stand-ins for folded reconciliations.
	folded []*change.Reconciliation
	// instants are each object's instant changes, oldest first (see change.Reconciliation). Instants
	// completes them on first use.
	instants map[types.UID][]*change.Reconciliation
}

// New returns Changes without a write, for about n objects. taken are the traces that were handed out.
func New(known index.View, o change.Options, taken map[trace.TraceID]change.Taken, n int) *Changes {
	return &Changes{
		known: known, opts: o, taken: taken,
		Lines:    map[trace.TraceID]*change.Lineage{},
		recs:     make(map[*change.Timeline][]*change.Reconciliation, n),
		instants: map[types.UID][]*change.Reconciliation{},
	}
}

// Add adds r, a new reconciliation with its first write.
func (c *Changes) Add(r *change.Reconciliation) {
	l := r.Lineage
	if len(l.Reconciliations) == 0 {
		l.First = r.First().RV
	}
	l.Reconciliations = append(l.Reconciliations, r)
	if r.Parent != nil {
		r.Parent.Children = append(r.Parent.Children, r)
	}
	if r.Instant {
		uid := r.Timeline.Ref.UID
		c.instants[uid] = append(c.Instants(uid), r)
		return
	}
	c.recs[r.Timeline] = append(c.Of(r.Timeline), r)
}

// Order completes Ordered, and orders the requests of each trace.
func (c *Changes) Order() {
	for _, l := range c.Lines {
		slices.SortFunc(l.Loose, func(a, b *observation.Write) int {
			return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.TraceParent, b.TraceParent))
		})
	}
	c.Ordered = slices.SortedFunc(maps.Values(c.Lines), CompareLineages)
}

// History returns the reconciliations of an object, oldest first. The first one may be a stand-in
// for a handed-out and folded one.
func (c *Changes) History(uid types.UID) []*change.Reconciliation {
	if t := c.known.Object(uid); t != nil {
		return c.Of(t)
	}
	return nil
}

// Of is History for the object of t.
func (c *Changes) Of(t *change.Timeline) []*change.Reconciliation {
	recs, known := c.recs[t]
	if !known && t.Past != nil {
		recs = c.remembered(t)
		c.recs[t] = recs
	}
	return recs
}

// Current returns the newest reconciliation of an object, or nil.
func (c *Changes) Current(uid types.UID) *change.Reconciliation {
	return Newest(c.History(uid))
}

// Newest returns the last of recs, or nil.
func Newest(recs []*change.Reconciliation) *change.Reconciliation {
	if len(recs) == 0 {
		return nil
	}
	return recs[len(recs)-1]
}

// RunLine returns the lineage of the command that made the request, or nil.
func (c *Changes) RunLine(req *observation.Write) *change.Lineage {
	if l := c.Lines[change.RunOf(req)]; l != nil && l.Run != nil {
		return l
	}
	return nil
}

// Related returns the lineage, and the lineages that follow from it by healing, in order.
func (c *Changes) Related(id trace.TraceID) []*change.Lineage {
	l := c.Lines[id]
	if l == nil {
		return nil
	}
	out, found := []*change.Lineage{l}, map[*change.Lineage]bool{l: true}
	for _, other := range c.Ordered {
		if !found[other] && slices.ContainsFunc(other.Follows, func(f *change.Lineage) bool { return found[f] }) {
			out, found[other] = append(out, other), true
		}
	}
	return out
}

// Instant returns the newest instant change of an object in this derivation, or nil.
func (c *Changes) Instant(uid types.UID) *change.Reconciliation {
	all := c.instants[uid]
	if len(all) == 0 || all[len(all)-1].Folded {
		return nil
	}
	return all[len(all)-1]
}

// CompareLineages orders lineages by their first writes. nil comes last.
func CompareLineages(a, b *change.Lineage) int {
	if a == nil || b == nil {
		return cmp.Compare(history.Truth(a == nil), history.Truth(b == nil))
	}
	return cmp.Or(cmp.Compare(a.First, b.First), slices.Compare(a.ID[:], b.ID[:]))
}

// LineOf returns the lineage of the run with the request of w, or nil.
func (c *Changes) LineOf(w *change.Write) *change.Lineage {
	if w.Request == nil {
		return nil
	}
	return c.RunLine(w.Request)
}

// UnderWay returns the newest reconciliation of the object that had not ended before w. Without
// one, it returns the newest.
func (c *Changes) UnderWay(w *change.Write) *change.Reconciliation {
	recs := c.Of(w.Timeline)
	for _, r := range slices.Backward(recs) {
		if r.OpenAt(w, c.opts.Quiet) {
			return r
		}
	}
	return Newest(recs)
}
