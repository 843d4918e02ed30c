// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"slices"

	"github.com/cespare/xxhash/v2"
)

// Table is the ownership of all parts. The zero value is an empty group. Tables are immutable
// values; Plan returns new ones.
type Table struct {
	// Version increases with every change.
	Version int64 `json:"version"`
	// Epochs are those with possible open work, the oldest first. All earlier work is done.
	Epochs []Epoch `json:"epochs,omitempty"`
	// Pending is the next epoch; nil without one.
	Pending *Pending `json:"pending,omitempty"`
	// Parted are the members that have gone recently, the latest last.
	Parted []Parted `json:"parted,omitempty"`
}

// Parted is a member that has gone.
type Parted struct {
	Identity string `json:"identity"`
	// Complete is the member's last State.Complete. The name in JSON is part of the protocol.
	Complete uint64 `json:"told"`
}

// Epoch is a range of resourceVersions in which the same members own the same
// namespaces.
type Epoch struct {
	ID int64 `json:"id"`
	// From is the first resourceVersion of the epoch. The next epoch ends it.
	From uint64 `json:"from"`
	// Members are the sorted identities that share the namespaces.
	Members []string `json:"members"`
	// Gone are the members that own nothing of the epoch any more. A member that returned stays in
	// it, and is a member of a later epoch.
	Gone []Gone `json:"gone,omitempty"`
}

// Gone is a member whose parts have new owners.
type Gone struct {
	Identity string `json:"identity"`
	// Since is the resourceVersion below which all its work was done.
	Since uint64 `json:"since"`
	// Version is the version of the Table that first contained it.
	Version int64 `json:"version"`
}

// Pending is an epoch that has not begun.
type Pending struct {
	ID      int64    `json:"id"`
	Members []string `json:"members"`
	// Hold is true if the members observe their future namespaces, and no member hands out parts
	// that would move.
	Hold bool `json:"hold,omitempty"`
	// Version is that of the Table with this step. A member that applies it, or a later one, has
	// taken the step.
	Version int64 `json:"version"`
}

// Owner returns the identity of the owner of a part that began in namespace at the resourceVersion
// first. It is "" if there is no owner yet. It is also "" if the work is done; then over is true.
func (t Table) Owner(namespace string, first uint64) (identity string, over bool) {
	if len(t.Epochs) == 0 {
		return "", false
	}
	if first < t.Epochs[0].From {
		return "", true
	}
	heir := int64(-1) // the Table in which all earlier ones were gone
	for i := t.epoch(first); i < len(t.Epochs); i++ {
		e := &t.Epochs[i]
		owner := e.owner(namespace)
		if len(e.Gone) == 0 {
			return owner, false
		}
		for _, g := range e.before(owner, namespace) {
			if g.Version > heir && first < g.Since {
				return "", true // it owned the part, and had finished
			}
			heir = max(heir, g.Version)
		}
		if owner != "" {
			return owner, false
		}
	}
	return "", false
}

// epoch returns the index of first's epoch.
func (t Table) epoch(first uint64) int {
	for i := len(t.Epochs) - 1; i > 0; i-- {
		if t.Epochs[i].From <= first {
			return i
		}
	}
	return 0
}

// live returns the members that own something in any epoch, sorted.
func (t Table) live() []string {
	var out []string
	for _, e := range t.Epochs {
		out = append(out, e.live()...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// parted finds a member that has gone recently.
func (t Table) parted(identity string) (Parted, bool) {
	i := slices.IndexFunc(t.Parted, func(p Parted) bool { return p.Identity == identity })
	if i < 0 {
		return Parted{}, false
	}
	return t.Parted[i], true
}

// live returns the members that are not gone.
func (e *Epoch) live() []string {
	return slices.DeleteFunc(slices.Clone(e.Members), func(m string) bool { return e.gone(m) != nil })
}

func (e *Epoch) gone(identity string) *Gone {
	if i := slices.IndexFunc(e.Gone, func(g Gone) bool { return g.Identity == identity }); i >= 0 {
		return &e.Gone[i]
	}
	return nil
}

// owner is the first member of the ranking that is not gone; "" if all are gone.
func (e *Epoch) owner(namespace string) string {
	if len(e.Gone) == 0 {
		return choose(namespace, e.Members)
	}
	return choose(namespace, e.live())
}

// before returns the gone members ahead of owner in the namespace's ranking, in order; all of them
// if owner is "".
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

// choose is rendezvous hashing. Each member has a score for the namespace, and the highest one
// wins. After the loss of a member, only its own namespaces move.
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

// score is a protocol between members of different versions: it must not change.
func score(namespace, member string) uint64 {
	return xxhash.Sum64String(member + "\x00" + namespace)
}

// clone copies the parts that Plan may change.
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
