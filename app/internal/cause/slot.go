// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
)

// slots returns the numbers of the slots of an owner's Pods, from 1. A new Pod gets the lowest slot that
// no living Pod has. The Pods that the observer found at its start are in order of creation.
func slots(s *Scene, owner types.UID) map[types.UID]int {
	if all, known := s.counts.slots[owner]; known {
		return all
	}
	type turn struct {
		found time.Time // the creation of a Pod found at the start; zero for others
		rv    uint64
		pod   types.UID
		ends  bool
	}
	var turns []turn
	for _, t := range s.Known.Dependants(owner) {
		for i, h := range livingIn(t, nil) {
			next := turn{rv: h.from, pod: t.Ref.UID, ends: h.alive < 0}
			if v := t.Versions[0]; i == 0 && v.Baseline {
				next.rv, next.found = 0, v.Created
			}
			if i < 2 { // a start and an end
				turns = append(turns, next)
			}
		}
	}
	slices.SortFunc(turns, func(a, b turn) int {
		return cmp.Or(cmp.Compare(a.rv, b.rv), a.found.Compare(b.found), cmp.Compare(a.pod, b.pod))
	})
	all := map[types.UID]int{}
	var free []int // sorted
	used := 0
	for _, t := range turns {
		switch {
		case t.ends:
			i, _ := slices.BinarySearch(free, all[t.pod])
			free = slices.Insert(free, i, all[t.pod])
		case len(free) > 0:
			all[t.pod], free = free[0], free[1:]
		default:
			used++
			all[t.pod] = used
		}
	}
	put(&s.counts.slots, owner, all)
	return all
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
	if len(all) == 0 {
		v := recs[0].Timeline.Last()
		older = v != nil && v.Workload != nil // the number never changed
	}
	switch {
	case found != nil:
		return found
	case older && (recs[0].Folded || recs[0].First().Reconstructed):
		return recs[0]
	case older && len(all) > 0:
		return nil
	}
	return recs[len(recs)-1]
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
