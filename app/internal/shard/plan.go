// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"maps"
	"slices"
)

// maxEpochs bounds the Table. Who joins while so many epochs are not done with
// waits; that members are gone needs no epoch. maxParted bounds how many of
// those are remembered.
const maxEpochs, maxParted = 16, 16

// State is what a member says of itself. Each field is as of one moment, after
// it began to act upon the Table of that Version.
type State struct {
	// Version is that of the Table that it acts upon; 0 before the first.
	Version int64 `json:"version"`
	// Ready: it observes, without a gap, all that this Table asks it to.
	Ready bool `json:"ready,omitempty"`
	// Seen is the highest resourceVersion that it has observed.
	Seen uint64 `json:"seen"`
	// Since is the resourceVersion below which it has nothing left to do, as far
	// as others are to know: for a while it says what was so before.
	Since uint64 `json:"since"`
	// Done is what is so: where it goes on itself if it comes back.
	Done uint64 `json:"done,omitempty"`
	// Told is the resourceVersion up to which it has told what comes late of
	// what it has stored.
	Told uint64 `json:"told,omitempty"`
	// Leaving: it asks to be left out of the next epoch.
	Leaving bool `json:"leaving,omitempty"`
	// Left: it has stopped.
	Left bool `json:"left,omitempty"`
}

// Status is a member as others see it.
type Status struct {
	Identity string
	State
	// Expired: its Lease did not change for too long. It has stopped handing
	// out.
	Expired bool
}

func (s Status) alive() bool { return !s.Expired && !s.Left }

// Plan returns the Table that is to follow t, now that the members stand so,
// and whether it differs. A member that is not among them is gone. It takes one
// step; call it again when it has been published.
func Plan(t Table, members []Status) (Table, bool) {
	p := planner{Table: t.clone(), next: t.Version + 1, members: map[string]Status{}}
	for _, m := range members {
		p.members[m.Identity] = m
	}
	lost := p.bury()
	parted := p.part()
	retired := p.retire()
	moved := p.move()
	if !lost && !parted && !retired && !moved {
		return t, false
	}
	p.Version = p.next
	return p.Table, true
}

type planner struct {
	Table
	next    int64
	members map[string]Status
}

// bury notes which members are gone.
func (p *planner) bury() bool {
	changed := false
	gone := map[string]uint64{} // since, before anything of it is noted
	for i := range p.Epochs {
		e := &p.Epochs[i]
		for _, m := range e.live() {
			if p.members[m].alive() {
				continue
			}
			if _, known := gone[m]; !known {
				gone[m] = p.since(m)
			}
			e.Gone = append(e.Gone, Gone{Identity: m, Since: gone[m], Version: p.next})
			changed = true
		}
	}
	return changed
}

// part notes which members have gone, and what they had told.
func (p *planner) part() bool {
	changed := false
	for _, identity := range slices.Sorted(maps.Keys(p.members)) {
		m := p.members[identity]
		if known, ok := p.parted(identity); m.alive() || m.Version == 0 || ok && known.Told >= m.Told {
			continue
		}
		p.Parted = slices.DeleteFunc(p.Parted, func(known Parted) bool { return known.Identity == identity })
		p.Parted = append(p.Parted, Parted{Identity: identity, Told: m.Told})
		changed = true
	}
	over := len(p.Parted) - maxParted
	p.Parted = slices.DeleteFunc(p.Parted, func(known Parted) bool {
		if _, there := p.members[known.Identity]; there || over <= 0 {
			return false // it would be noted again
		}
		over--
		return true
	})
	return changed
}

// since is the resourceVersion below which the member has nothing left to do,
// also of what it may have inherited and not know of yet. A member that is not
// there at all has done nothing.
func (p *planner) since(member string) uint64 {
	m := p.members[member]
	out := m.Since
	for i := range p.Epochs {
		for _, g := range p.Epochs[i].Gone {
			if g.Version > m.Version {
				out = min(out, g.Since)
			}
		}
	}
	return out
}

// retire drops the oldest epochs of which nobody has anything left to do.
func (p *planner) retire() bool {
	changed := false
	for len(p.Epochs) > 1 {
		live := p.live()
		if len(live) == 0 || slices.ContainsFunc(live, func(m string) bool { return p.since(m) < p.Epochs[1].From }) {
			break
		}
		p.Epochs, changed = p.Epochs[1:], true
	}
	return changed
}

// move begins a pending epoch, or brings it a step further.
func (p *planner) move() bool {
	var want, have []string
	for identity, m := range p.members {
		if m.alive() && !m.Leaving {
			want = append(want, identity)
		}
	}
	want = sorted(want)
	if n := len(p.Epochs); n > 0 {
		have = p.Epochs[n-1].live()
	}
	if p.Pending != nil &&
		slices.ContainsFunc(p.Pending.Members, func(m string) bool { return !slices.Contains(want, m) }) {
		p.Pending = nil // one of them will not be there
		p.begin(want, have)
		return true
	}
	if p.Pending == nil {
		return p.begin(want, have)
	}
	return p.step()
}

func (p *planner) begin(want, have []string) bool {
	if len(want) == 0 || slices.Equal(want, have) || len(p.Epochs) >= maxEpochs {
		return false
	}
	p.Pending = &Pending{ID: p.next, Members: want, Version: p.next}
	return true
}

// step looks whether everybody has taken the present step of the pending epoch.
func (p *planner) step() bool {
	first := len(p.Epochs) == 0
	from := uint64(0)
	if !first {
		from = p.Epochs[len(p.Epochs)-1].From
	}
	for _, m := range append(p.live(), p.Pending.Members...) {
		s := p.members[m]
		if s.Version < p.Pending.Version {
			return false
		}
		if !p.Pending.Hold && !s.Ready && slices.Contains(p.Pending.Members, m) {
			return false
		}
		from = max(from, s.Seen)
	}
	switch {
	case first: // nobody has handed out anything
		p.Epochs = []Epoch{{ID: p.Pending.ID, Members: p.Pending.Members}}
		p.Pending = nil
	case !p.Pending.Hold:
		p.Pending.Hold, p.Pending.Version = true, p.next
	default:
		p.Epochs = append(p.Epochs, Epoch{ID: p.Pending.ID, From: from + 1, Members: p.Pending.Members})
		p.Pending = nil
	}
	return true
}
