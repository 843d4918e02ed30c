// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// wanting returns the reconciliation of the owner whose write made the owner's controller write w
// (rules D4 and D5), or nil. Most owners have one reconciliation at a time.
func (d *derivation) wanting(w *write, o *object.Owner) *reconciliation {
	recs := d.history(o.UID)
	if len(recs) == 0 {
		return nil
	}
	newest := recs[len(recs)-1]
	if newest.verb == deleted {
		return newest
	}
	switch {
	case kind.Deployment.Is(o.Kind) && kind.ReplicaSet.Is(w.t.ref.Kind):
		return cmp.Or(ofReplicaSet(w, recs), newest)
	case kind.ReplicaSet.Is(o.Kind) && w.verb == created:
		return ofSlot(recs, d.census(o.UID).before(w.rv)+1)
	case kind.ReplicaSet.Is(o.Kind) && w.verb == deleted:
		return cmp.Or(scaleDown(recs, anyNumber), newest)
	case kind.StatefulSet.Is(o.Kind) && w.t.last() != nil && w.t.last().Pod != nil:
		return d.ofOrdinal(w, o, recs)
	}
	return newest
}

// ofReplicaSet returns the reconciliation of a Deployment that a write to its ReplicaSet serves. The
// ReplicaSet's annotation with the Deployment's number of replicas changes when the Deployment was
// scaled. All else is a step of a rollout.
func ofReplicaSet(w *write, recs []*reconciliation) *reconciliation {
	switch {
	case w.verb == created:
		return newestOf(recs, kind.Template)
	case w.verb != updated:
		return nil
	case w.changed.scale:
		if r := newestOf(recs, kind.Scale); r != nil {
			return r
		}
		return foundScaling(recs)
	}
	if r := newestOf(recs, kind.Template); r != nil && r.convergedBy(w.rv) == nil {
		return r
	}
	return nil
}

// newestOf returns the newest reconciliation that changed one of the parts and was not superseded.
func newestOf(recs []*reconciliation, parts kind.Part) *reconciliation {
	for _, r := range slices.Backward(recs) {
		if r.took&parts != 0 && r.superseded == nil {
			return r
		}
	}
	return nil
}

// foundScaling returns the reconciliation that was found under way, and makes it a scaling: a
// ReplicaSet shows a number of replicas that no later change of the Deployment explains. The template
// of such a change did not take over from it.
func foundScaling(recs []*reconciliation) *reconciliation {
	r := recs[0]
	if !r.first().reconstructed || r.verb != updated || r.took != kind.Everything {
		return nil
	}
	r.took, r.parts = kind.Scale, kind.Scale
	if r.superseded == nil {
		return r
	}
	by := r.superseded.rec
	r.superseded = nil
	by.links = slices.DeleteFunc(by.links, func(l span.Link) bool { return l.SpanID == r.id() })
	beside(r, by)
	return r
}

// ofOrdinal returns the reconciliation of a StatefulSet that wanted one of its Pods, or did not want it
// any more.
func (d *derivation) ofOrdinal(w *write, o *object.Owner, recs []*reconciliation) *reconciliation {
	newest := recs[len(recs)-1]
	n, ok := ordinal(w.t.ref.Name)
	switch {
	case !ok:
		return newest
	case w.verb == deleted:
		if r := scaleDown(recs, n); r != nil {
			return r
		}
		return cmp.Or(newestOf(recs, kind.Template), newest)
	case w.verb != created:
		return newest
	}
	r := ofSlot(recs, n+1)
	if r == nil || !d.hadOrdinal(w, o, r) {
		return r
	}
	return cmp.Or(newestOf(recs, kind.Template), newest)
}

// hadOrdinal reports whether a Pod of the name of w's was made for r before.
func (d *derivation) hadOrdinal(w *write, o *object.Owner, r *reconciliation) bool {
	return slices.ContainsFunc(d.engine.dependantsOf(o.UID), func(t *timeline) bool {
		if t == w.t || t.ref.Name != w.t.ref.Name {
			return false
		}
		mine := d.current(t.ref.UID)
		return mine != nil && mine.first().rv < w.rv && mine.first().rv >= r.first().rv
	})
}

// ordinal returns the number at the end of the name of a StatefulSet's Pod.
func ordinal(name string) (int, bool) {
	i := strings.LastIndexByte(name, '-')
	n, err := strconv.Atoi(name[i+1:])
	return n, err == nil && n >= 0
}

// ofSlot returns the reconciliation that wants a Pod made as the n-th of its owner: the one that raised
// the number of replicas to n or above. A decrease ends the slots above it (rule D3). It is nil if the
// number was as high before the observer began, and nothing was under way then.
func ofSlot(recs []*reconciliation, n int) *reconciliation {
	all := scalings(recs)
	var found *reconciliation
	older := len(all) > 0 && n <= all[0].from
	for _, s := range all {
		switch {
		case s.to < n:
			found, older = nil, false
		case s.from < n:
			found = s.rec
		}
	}
	switch {
	case found != nil:
		return found
	case !older:
		return recs[len(recs)-1]
	case recs[0].folded || recs[0].first().reconstructed:
		return recs[0]
	}
	return nil
}

// scaleDown returns the reconciliation of the last decrease to n replicas or fewer, unless the number
// was raised above n again. It is nil if there was none. For anyNumber each decrease counts.
func scaleDown(recs []*reconciliation, n int) *reconciliation {
	var found *reconciliation
	for _, s := range scalings(recs) {
		switch {
		case s.to < s.from && (n == anyNumber || s.to <= n):
			found = s.rec
		case n != anyNumber && s.to > n:
			found = nil
		}
	}
	return found
}

const anyNumber = -1

// scaling is a change of the number of replicas.
type scaling struct {
	rec      *reconciliation
	rv       uint64
	from, to int
}

// scalings returns the changes of the number of replicas, in order.
func scalings(recs []*reconciliation) []scaling {
	var out []scaling
	for _, r := range recs {
		for _, w := range r.writes {
			if w.v == nil || w.v.Workload == nil {
				continue
			}
			s := scaling{rec: r, rv: w.rv, to: int(w.v.Workload.Replicas)}
			switch {
			case w.prev != nil && w.prev.Workload != nil:
				s.from = int(w.prev.Workload.Replicas)
			case w.reconstructed:
				s.from = int(w.v.Workload.Total) // what was there when it was found
			}
			if s.from != s.to {
				out = append(out, s)
			}
		}
	}
	slices.SortFunc(out, func(a, b scaling) int { return cmp.Compare(a.rv, b.rv) })
	return out
}

// parts returns the parts of the desired state that w changed. All are changed if that is unknown.
func (w *write) parts() kind.Part {
	if w.verb != updated || !w.changed.known || !w.changed.spec() {
		return kind.Everything
	}
	parts := w.changed.parts &^ kind.Metadata
	if before, after := w.prev.Workload, w.v.Workload; before != nil && after != nil && before.Paused && !after.Paused {
		parts |= kind.Template // it goes on with the template that was held (rule D7)
	}
	return parts
}

// takeOver takes from the object's other reconciliations the parts that w, a write of by, changed. One
// that holds none any more is superseded (rule D2). It links by with the others, which go on beside it,
// and returns these.
func (d *derivation) takeOver(w *write, by *reconciliation) []*reconciliation {
	var others []*reconciliation
	for _, r := range d.history(w.t.ref.UID) {
		if r == by || r.superseded != nil || r.verb == deleted || r.convergedBy(w.rv) != nil {
			continue
		}
		if left := r.parts &^ r.loses(w); left != 0 {
			r.parts = left
			others = append(others, r)
			continue
		}
		r.superseded = w
		r.line.latest = later(r.line.latest, w.heard())
	}
	if w != by.first() {
		return nil
	}
	for _, r := range others {
		beside(r, by)
	}
	return others
}

// beside links two reconciliations of one object that go on side by side.
func beside(r, by *reconciliation) {
	if r.line != by.line {
		r.links = append(r.links, by.link(linkConcurrent))
		by.links = append(by.links, r.link(linkConcurrent))
	}
}

// linkConcurrent links reconciliations of one object that go on side by side.
const linkConcurrent = "concurrent"

// loses returns the parts that r would lose to w. A raise takes no replicas, a decrease those above it
// (rule D3).
func (r *reconciliation) loses(w *write) kind.Part {
	parts := w.parts()
	if parts&r.parts&kind.Template != 0 {
		return kind.Everything // what it still wants comes with the new template
	}
	if parts&kind.Scale == 0 || parts == kind.Everything || w.v.Workload == nil || w.prev.Workload == nil {
		return parts
	}
	to := w.v.Workload.Replicas
	switch {
	case to > w.prev.Workload.Replicas, to > r.bottom():
		return parts &^ kind.Scale
	case kind.ReplicaSet.Is(w.t.ref.Kind):
		return kind.Everything // its template never changes
	}
	return parts
}

// bottom is the number of replicas before r raised it first.
func (r *reconciliation) bottom() int32 {
	w := r.first()
	if w.verb == updated && w.prev != nil && w.prev.Workload != nil {
		return w.prev.Workload.Replicas
	}
	return 0
}

// top is the number of replicas that r wants.
func (r *reconciliation) top(now int32) int32 {
	if v := r.last().v; v != nil && v.Workload != nil {
		return v.Workload.Replicas
	}
	return now
}
