// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"cmp"
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/change"
)

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
