// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// wanting returns the reconciliation of the owner o that led to the write w of its controller
// (rules D4 and D5), or nil. Most owners have one reconciliation at a time.
func (f *Finder) wanting(w *change.Write, o *object.Owner) *change.Reconciliation {
	recs := f.History(o.UID)
	if len(recs) == 0 {
		return nil
	}
	newest := recs[len(recs)-1]
	if newest.Verb == history.Deleted {
		return newest
	}
	switch {
	case kind.Deployment.Is(o.Kind) && kind.ReplicaSet.Is(w.Timeline.Ref.Kind):
		return cmp.Or(ofReplicaSet(w, recs), newest)
	case kind.ReplicaSet.Is(o.Kind) && w.Verb == history.Created:
		return ofSlot(recs, f.Census(o.UID).Before(w.RV)+1)
	case kind.ReplicaSet.Is(o.Kind) && w.Verb == history.Deleted:
		return cmp.Or(scaleDown(recs, anyNumber), newest)
	case kind.StatefulSet.Is(o.Kind) && w.Timeline.Last() != nil && w.Timeline.Last().Pod != nil:
		return f.ofOrdinal(w, o, recs)
	}
	return newest
}

// ofReplicaSet returns the reconciliation of a Deployment for a write to its ReplicaSet, or nil. A
// scaling of the Deployment changes the ReplicaSet's annotation with the Deployment's number of
// replicas. Any other write is a step of a rollout.
func ofReplicaSet(w *change.Write, recs []*change.Reconciliation) *change.Reconciliation {
	switch {
	case w.Verb == history.Created:
		return newestOf(recs, kind.Template)
	case w.Verb != history.Updated:
		return nil
	case w.Changed.Scale:
		if r := newestOf(recs, kind.Scale); r != nil {
			return r
		}
		return foundScaling(recs)
	}
	if r := newestOf(recs, kind.Template); r != nil && r.ConvergedBy(w.RV) == nil {
		return r
	}
	return nil
}

// newestOf returns the newest reconciliation with a change of one of the parts, or nil. A
// superseded one does not count.
func newestOf(recs []*change.Reconciliation, parts kind.Part) *change.Reconciliation {
	for _, r := range slices.Backward(recs) {
		if r.Took&parts != 0 && r.Superseded == nil {
			return r
		}
	}
	return nil
}

// foundScaling converts the reconciliation found under way into a scaling and returns it, or nil.
// The reason is a ReplicaSet's number of replicas without a later change of the Deployment as its
// cause. A later change of the template did not supersede the scaling.
func foundScaling(recs []*change.Reconciliation) *change.Reconciliation {
	r := recs[0]
	if !r.First().Reconstructed || r.Verb != history.Updated || r.Took != kind.Everything {
		return nil
	}
	r.Took, r.Parts = kind.Scale, kind.Scale
	if r.Superseded == nil {
		return r
	}
	by := r.Superseded.Reconciliation
	r.Superseded = nil
	by.Links = slices.DeleteFunc(by.Links, func(l span.Link) bool { return l.SpanID == r.ID() })
	change.Beside(r, by)
	return r
}

// ofOrdinal returns the reconciliation of a StatefulSet with the demand for one of its Pods, or
// with the end of that demand. It may be nil.
func (f *Finder) ofOrdinal(w *change.Write, o *object.Owner, recs []*change.Reconciliation) *change.Reconciliation {
	newest := recs[len(recs)-1]
	n, ok := ordinal(w.Timeline.Ref.Name)
	switch {
	case !ok:
		return newest
	case w.Verb == history.Deleted:
		if r := scaleDown(recs, n); r != nil {
			return r
		}
		return cmp.Or(newestOf(recs, kind.Template), newest)
	case w.Verb != history.Created:
		return newest
	}
	r := ofSlot(recs, n+1)
	if r == nil || !f.hadOrdinal(w, o, r) {
		return r
	}
	return cmp.Or(newestOf(recs, kind.Template), newest)
}

// hadOrdinal reports whether r already had an earlier Pod with the name of w's object.
func (f *Finder) hadOrdinal(w *change.Write, o *object.Owner, r *change.Reconciliation) bool {
	return slices.ContainsFunc(f.Dependants(o.UID), func(t *change.Timeline) bool {
		if t == w.Timeline || t.Ref.Name != w.Timeline.Ref.Name {
			return false
		}
		mine := f.Current(t.Ref.UID)
		return mine != nil && mine.First().RV < w.RV && mine.First().RV >= r.First().RV
	})
}

// ordinal returns the number at the end of the name of a StatefulSet's Pod, and whether there is
// one.
func ordinal(name string) (int, bool) {
	i := strings.LastIndexByte(name, '-')
	n, err := strconv.Atoi(name[i+1:])
	return n, err == nil && n >= 0
}

// ofSlot returns the reconciliation behind the n-th Pod of an owner: its increase of the number of
// replicas to n or more. A decrease ends the slots above it (rule D3). The result is nil if the
// number was already that high before the start of the observer, and nothing was under way then.
func ofSlot(recs []*change.Reconciliation, n int) *change.Reconciliation {
	all := scalings(recs)
	var found *change.Reconciliation
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
	case recs[0].Folded || recs[0].First().Reconstructed:
		return recs[0]
	}
	return nil
}

// scaleDown returns the reconciliation of the last decrease to n replicas or fewer. It is nil
// without such a decrease, or after a new increase above n. For anyNumber, each decrease counts.
func scaleDown(recs []*change.Reconciliation, n int) *change.Reconciliation {
	var found *change.Reconciliation
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

// anyNumber is the argument of scaleDown for decreases to any number.
const anyNumber = -1

// scaling is a change of the number of replicas.
type scaling struct {
	rec      *change.Reconciliation
	rv       uint64
	from, to int
}

// scalings returns the changes of the number of replicas, in order.
func scalings(recs []*change.Reconciliation) []scaling {
	var out []scaling
	for _, r := range recs {
		for _, w := range r.Writes {
			if w.Version == nil || w.Version.Workload == nil {
				continue
			}
			s := scaling{rec: r, rv: w.RV, to: int(w.Version.Workload.Replicas)}
			switch {
			case w.Previous != nil && w.Previous.Workload != nil:
				s.from = int(w.Previous.Workload.Replicas)
			case w.Reconstructed:
				s.from = int(w.Version.Workload.Total) // the number of Pods at the start of the observer
			}
			if s.from != s.to {
				out = append(out, s)
			}
		}
	}
	slices.SortFunc(out, func(a, b scaling) int { return cmp.Compare(a.rv, b.rv) })
	return out
}
