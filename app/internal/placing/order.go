// SPDX-License-Identifier: Apache-2.0

package placing

import (
	"cmp"
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/change"
)

// writes returns all writes to all objects of the group, in order.
func (p *Placing) writes() []*change.Write {
	n := 0
	for t := range p.members {
		n += len(t.Versions) + len(t.Requests())
		if t.Removal != nil {
			n++
		}
	}
	all := make([]change.Write, 0, n)
	for t := range p.members {
		from := len(all)
		all = t.Writes(all, cause.HowRebuilt(p.scene, t))
		all = p.trail.Missed(t, all, from)
	}
	p.align(all)
	p.adopt(all)
	p.loosen(all)
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
		return p.order(a.write, b.write)
	})
	ordered := make([]*change.Write, len(all))
	for i := range places {
		ordered[i] = places[i].write
	}
	return ordered
}

// order compares writes of the same place. Reconstructed writes come first, and those of owners come
// before those of dependants.
func (p *Placing) order(a, b *change.Write) int {
	switch {
	case a.Reconstructed && !b.Reconstructed:
		return -1
	case b.Reconstructed && !a.Reconstructed:
		return 1
	case a.Timeline != b.Timeline:
		if c := cmp.Compare(p.depth(a.Timeline, 0), p.depth(b.Timeline, 0)); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(a.Timeline.Ref.UID, b.Timeline.Ref.UID), cmp.Compare(a.RV, b.RV),
		cmp.Compare(a.Verb, b.Verb))
}

// depth is the number of controllers above t.
func (p *Placing) depth(t *change.Timeline, sofar int) int {
	o := p.known.Controller(t)
	if o == nil || sofar > 16 {
		return sofar
	}
	if up := p.known.Object(o.UID); up != nil {
		return p.depth(up, sofar+1)
	}
	return sofar + 1
}
