// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"math"
	"slices"
)

// Observe reports whether the member has to observe namespace, and the first resourceVersion to
// read. From there on it needs all writes, unless its own store has them up to a later one. 0 means
// from now on. All members observe namespace "".
func (v View) Observe(namespace string) (since uint64, ok bool) {
	legacies, ok := v.legacies(namespace)
	return v.since(legacies), ok
}

func (v View) since(legacies []legacy) uint64 {
	since := uint64(0)
	for _, l := range legacies {
		since = Lower(since, l.since)
	}
	return since
}

// Change is a change of a member's work in a namespace.
type Change struct {
	Namespace string
	// Observe is false if the namespace need not be observed any more.
	Observe bool
	// Since is the first resourceVersion to read; 0 means from now on. In a namespace that the
	// member already observes, it has to process the writes since then again. Parts of another
	// member are now its own, unless its own store has them.
	Since uint64
}

// Changes returns the changes from the View before to the View after, for those namespaces that
// have one, in their order. At the start, before is the zero View.
func Changes(before, after View, namespaces []string) []Change {
	var out []Change
	for _, ns := range namespaces {
		had, did := before.legacies(ns)
		has, does := after.legacies(ns)
		has = slices.DeleteFunc(has, func(l legacy) bool {
			return slices.ContainsFunc(had, func(h legacy) bool { return h.epoch == l.epoch && h.from == l.from })
		})
		if did != does || does && len(has) > 0 {
			out = append(out, Change{Namespace: ns, Observe: does, Since: after.since(has)})
		}
	}
	return out
}

// legacy is the possible rest of an epoch from a member that is gone, from since on.
type legacy struct {
	epoch int64
	from  string
	since uint64
}

// legacies returns all that the member has inherited in namespace. ok reports whether it has to
// observe the namespace.
func (v View) legacies(namespace string) (out []legacy, ok bool) {
	if v.self == "" {
		return nil, false
	}
	ok = namespace == ""
	epochs := v.table.Epochs
	if p := v.table.Pending; p != nil { // as the newest epoch
		epochs = append(slices.Clone(epochs), Epoch{From: math.MaxUint64, Members: p.Members})
	}
	for i := range epochs {
		if more, mine := v.inherit(epochs[i:], namespace); mine {
			out, ok = append(out, more...), true
		}
	}
	if ok && v.resume != 0 {
		out = append(out, legacy{from: v.self, since: v.resume})
	}
	return out, ok
}

// inherit reports whether the member owns the parts of namespace in the first of the epochs, and
// what it has inherited there.
func (v View) inherit(epochs []Epoch, namespace string) (out []legacy, mine bool) {
	first := &epochs[0]
	for i := range epochs {
		e := &epochs[i]
		owner := e.owner(namespace)
		for _, g := range e.before(owner, namespace) {
			if len(epochs) > 1 && g.Since >= epochs[1].From {
				continue // its work in the first epoch was done
			}
			out = append(out, legacy{epoch: first.ID, from: g.Identity, since: max(g.Since, first.From, 1)})
		}
		if owner != "" {
			return out, owner == v.self
		}
	}
	return nil, false
}

// Lower returns the lower of two resourceVersions; 0 means none.
func Lower(a, b uint64) uint64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
