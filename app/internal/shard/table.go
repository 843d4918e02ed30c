// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"slices"

	"github.com/cespare/xxhash/v2"
)

// Table says who owns what. The zero value is that of a group to which nobody
// belongs yet. Tables are values that Plan replaces; nobody changes one.
type Table struct {
	// Version grows with every change.
	Version int64 `json:"version"`
	// Epochs are those of which somebody may have something left to do, oldest
	// first. What began before them is done with.
	Epochs []Epoch `json:"epochs,omitempty"`
	// Pending is the epoch that is to come; nil if none is.
	Pending *Pending `json:"pending,omitempty"`
	// Parted are the members that have gone lately, the last one last.
	Parted []Parted `json:"parted,omitempty"`
}

// Parted is a member that has gone.
type Parted struct {
	Identity string `json:"identity"`
	// Told is the resourceVersion up to which it had told what came late.
	Told uint64 `json:"told"`
}

// Epoch is a range of resourceVersions in which the same members own the same
// namespaces.
type Epoch struct {
	ID int64 `json:"id"`
	// From is the first resourceVersion of the epoch; it ends where the next
	// one begins.
	From uint64 `json:"from"`
	// Members are the identities of those among whom namespaces were divided,
	// in order.
	Members []string `json:"members"`
	// Gone are those of them that own nothing of the epoch any more. A member
	// that came back is in it still, and a member of a later epoch.
	Gone []Gone `json:"gone,omitempty"`
}

// Gone is a member whose parts others have taken over.
type Gone struct {
	Identity string `json:"identity"`
	// Since is the resourceVersion below which it had finished everything.
	Since uint64 `json:"since"`
	// Version is that of the Table that said so first.
	Version int64 `json:"version"`
}

// Pending is an epoch that has not begun.
type Pending struct {
	ID      int64    `json:"id"`
	Members []string `json:"members"`
	// Hold: the members observe what will be theirs, and nobody hands out what
	// would move.
	Hold bool `json:"hold,omitempty"`
	// Version is that of the Table that brought this step. Who acts upon it, or
	// a later one, has taken the step.
	Version int64 `json:"version"`
}

// Owner returns the identity of the member that owns what began in namespace
// at the resourceVersion first. It is "" if nobody does yet, and if nobody does
// any more since it is done with, which over tells.
func (t Table) Owner(namespace string, first uint64) (identity string, over bool) {
	if len(t.Epochs) == 0 {
		return "", false
	}
	if first < t.Epochs[0].From {
		return "", true
	}
	heir := int64(-1) // the Table in which those before were all gone
	for i := t.epoch(first); i < len(t.Epochs); i++ {
		e := &t.Epochs[i]
		owner := e.owner(namespace)
		if len(e.Gone) == 0 {
			return owner, false
		}
		for _, g := range e.before(owner, namespace) {
			if g.Version > heir && first < g.Since {
				return "", true // it was there to own it, and had finished
			}
			heir = max(heir, g.Version)
		}
		if owner != "" {
			return owner, false
		}
	}
	return "", false
}

// epoch is the index of the epoch in which first is.
func (t Table) epoch(first uint64) int {
	for i := len(t.Epochs) - 1; i > 0; i-- {
		if t.Epochs[i].From <= first {
			return i
		}
	}
	return 0
}

// live are the members that own something, in any epoch, in order.
func (t Table) live() []string {
	var out []string
	for _, e := range t.Epochs {
		out = append(out, e.live()...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// parted finds the member among those that have gone lately.
func (t Table) parted(identity string) (Parted, bool) {
	i := slices.IndexFunc(t.Parted, func(p Parted) bool { return p.Identity == identity })
	if i < 0 {
		return Parted{}, false
	}
	return t.Parted[i], true
}

// live are the members that are not gone.
func (e *Epoch) live() []string {
	return slices.DeleteFunc(slices.Clone(e.Members), func(m string) bool { return e.gone(m) != nil })
}

func (e *Epoch) gone(identity string) *Gone {
	if i := slices.IndexFunc(e.Gone, func(g Gone) bool { return g.Identity == identity }); i >= 0 {
		return &e.Gone[i]
	}
	return nil
}

// owner is the first of the ranking that is not gone; "" if all are.
func (e *Epoch) owner(namespace string) string {
	if len(e.Gone) == 0 {
		return choose(namespace, e.Members)
	}
	return choose(namespace, e.live())
}

// before are those that are gone and come before owner in the ranking for the
// namespace, the first one first; all of them if owner is "".
func (e *Epoch) before(owner, namespace string) []Gone {
	out := slices.DeleteFunc(slices.Clone(e.Gone), func(g Gone) bool {
		return owner != "" && !ahead(namespace, g.Identity, owner)
	})
	slices.SortFunc(out, func(a, b Gone) int {
		if ahead(namespace, a.Identity, b.Identity) {
			return -1
		}
		return 1
	})
	return out
}

// choose is rendezvous hashing: each member has a score for the namespace, and
// the highest one wins. Without a member, only what was its moves.
func choose(namespace string, members []string) string {
	best := ""
	for _, m := range members {
		if best == "" || ahead(namespace, m, best) {
			best = m
		}
	}
	return best
}

// ahead reports whether a comes before b in the ranking for the namespace.
func ahead(namespace, a, b string) bool {
	x, y := score(namespace, a), score(namespace, b)
	return x > y || x == y && a < b
}

// score is part of what members of different versions have to agree on: it must
// not change.
func score(namespace, member string) uint64 {
	return xxhash.Sum64String(member + "\x00" + namespace)
}

// clone copies what Plan may change.
func (t Table) clone() Table {
	t.Epochs = slices.Clone(t.Epochs)
	for i := range t.Epochs {
		t.Epochs[i].Gone = slices.Clone(t.Epochs[i].Gone)
	}
	t.Parted = slices.Clone(t.Parted)
	if t.Pending != nil {
		p := *t.Pending
		t.Pending = &p
	}
	return t
}

func sorted(identities []string) []string {
	slices.Sort(identities)
	return slices.Compact(identities)
}
