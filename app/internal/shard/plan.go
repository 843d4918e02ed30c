// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"maps"
	"slices"
)

// maxEpochs bounds the Table. At that number of epochs, new members wait; the loss of a member
// needs no epoch. maxParted bounds the recorded members that have gone.
const maxEpochs, maxParted = 16, 16

// State is the published state of a member. Each field is as of one moment, after it began to apply
// the Table of that Version.
type State struct {
	// Version is the version of its Table; 0 before the first.
	Version int64 `json:"version"`
	// Ready is true if it observes all namespaces of this Table without a gap.
	Ready bool `json:"ready,omitempty"`
	// Seen is the highest observed resourceVersion.
	Seen uint64 `json:"seen"`
	// Since is the resourceVersion below which its work is done, as published to others. For the
	// time of Recall, an earlier value stays.
	Since uint64 `json:"since"`
	// Done is the present value of Since. The member itself resumes there.
	Done uint64 `json:"done,omitempty"`
	// Complete is the resourceVersion up to which it has stored the late data of its stored traces.
	// The name in JSON is part of the protocol.
	Complete uint64 `json:"told,omitempty"`
	// Leaving asks to be left out of the next epoch.
	Leaving bool `json:"leaving,omitempty"`
	// Left marks a member that has stopped.
	Left bool `json:"left,omitempty"`
}

// Status is a member's state for other members.
type Status struct {
	Identity string
	State
	// Expired marks a Lease that did not change for too long. The member has stopped handing out.
	Expired bool
}

func (s Status) alive() bool { return !s.Expired && !s.Left }

// Plan returns the next Table after t for these members, and whether it differs. A missing member
// is gone. It takes one step; call it again after the Table is published.
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

// bury records the members that are gone.
func (p *planner) bury() bool {
	changed := false
	gone := map[string]uint64{} // their since, before any change
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

// part records the members that have gone, and their Complete.
func (p *planner) part() bool {
	changed := false
	for _, identity := range slices.Sorted(maps.Keys(p.members)) {
		m := p.members[identity]
		if known, ok := p.parted(identity); m.alive() || m.Version == 0 || ok && known.Complete >= m.Complete {
			continue
		}
		p.Parted = slices.DeleteFunc(p.Parted, func(known Parted) bool { return known.Identity == identity })
		p.Parted = append(p.Parted, Parted{Identity: identity, Complete: m.Complete})
		changed = true
	}
	over := len(p.Parted) - maxParted
	p.Parted = slices.DeleteFunc(p.Parted, func(known Parted) bool {
		if _, there := p.members[known.Identity]; there || over <= 0 {
			return false // the next call would add it again
		}
		over--
		return true
	})
	return changed
}

// since is the resourceVersion below which the member's work is done. It includes inherited work
// that the member may not have noticed yet. A member without a State has done nothing.
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

// retire drops the oldest epochs without open work.
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

// move begins a pending epoch, or advances it by one step.
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
		p.Pending = nil // one of them has gone
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

// step advances the pending epoch if all members have taken its present step.
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
	case first: // nothing was handed out yet
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
