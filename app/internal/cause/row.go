// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"cmp"
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// row has the places of one key, in order. free are the free ones, the place that was freed first is the first.
type row struct {
	all, free []*place
	// last is the order of the newest place.
	last int
}

// place is one place.
type place struct {
	// key names the dependants that may fill the place. number is that of the place, from 1, if it is in their
	// names; else 0. order is that of the places in a row.
	key    string
	number int
	order  int
	// holder fills the place, and since is the resourceVersion of its creation. It is nil for a free place.
	holder *change.Timeline
	since  uint64
	// freed is the resourceVersion at which the holder left. lost is its loss, or nil. again means that its
	// controller removed it, and fills the place again.
	freed uint64
	lost  *departure
	again bool
}

// add adds a place with t as its holder.
func (p *places) add(s *Scene, o *object.Owner, t *change.Timeline) *place {
	at := &place{key: keyOf(o, t), number: numberOf(s, o, t), holder: t}
	r := p.rows[at.key]
	if r == nil {
		r = &row{}
		p.rows[at.key] = r
	}
	r.last++
	at.order = r.last
	r.all = append(r.all, at)
	p.holders[t] = at
	return at
}

// vacate frees a place at the resourceVersion rv.
func (p *places) vacate(at *place, rv uint64) {
	delete(p.holders, at.holder)
	at.holder, at.freed = nil, rv
	r := p.rows[at.key]
	i, _ := slices.BinarySearchFunc(r.free, at, byFreed)
	r.free = slices.Insert(r.free, i, at)
}

// remove removes a free place.
func (p *places) remove(at *place) {
	r := p.rows[at.key]
	r.all = cut(r.all, at, byOrder)
	r.free = cut(r.free, at, byFreed)
}

func byFreed(a, b *place) int { return cmp.Or(cmp.Compare(a.freed, b.freed), byOrder(a, b)) }
func byOrder(a, b *place) int { return cmp.Compare(a.order, b.order) }

// cut removes a place from sorted ones.
func cut(all []*place, at *place, order func(a, b *place) int) []*place {
	i, found := slices.BinarySearchFunc(all, at, order)
	if !found {
		return all
	}
	return slices.Delete(all, i, i+1)
}

// next returns the place that a new dependant t fills, and its number. The place is nil if it is a new one.
func (p *places) next(s *Scene, o *object.Owner, t *change.Timeline) (free *place, number int) {
	r := p.rows[keyOf(o, t)]
	switch {
	case r == nil:
		number = 1
	case len(r.free) == 0:
		number = len(r.all) + 1
	default:
		free = r.free[0]
		number, _ = slices.BinarySearchFunc(r.all, free, byOrder)
		number++
	}
	return free, cmp.Or(numberOf(s, o, t), number)
}

// anyPod is the key of the Pods that replace each other.
const anyPod = "/Pod"

// held returns the number of filled places for such Pods.
func (p *places) held() int {
	if r := p.rows[anyPod]; r != nil {
		return len(r.all) - len(r.free)
	}
	return 0
}

// shrink removes the free places of a key above the number n, the last ones first. It does so at the resourceVersion
// rv: nothing replaces their losses.
func (p *places) shrink(key string, n int, rv uint64) {
	r := p.rows[key]
	for i := len(r.all) - 1; i >= 0 && len(r.free) > 0; i-- {
		if key == anyPod && len(r.all) <= n {
			return
		}
		at := r.all[i]
		if at.holder != nil || key != anyPod && at.number <= n {
			continue
		}
		if at.lost != nil {
			at.lost.replaced, at.lost.by = true, rv
		}
		p.remove(at)
	}
}
