// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"math"
	"slices"
)

// Observe reports whether the member has to observe namespace, and from which
// resourceVersion at the latest: it has to see all writes from there on, unless
// its own store has those up to a later one. 0 is from now on. Namespace "" is
// for everybody to observe.
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

// Change is what a member has to do about a namespace.
type Change struct {
	Namespace string
	// Observe is false if the namespace needs to be observed no longer.
	Observe bool
	// Since is the resourceVersion from which on everything has to be read, 0
	// for from now on. Of a namespace that the member observes already, it has
	// to look again at what was written since: what was another's is its own
	// now, unless its own store has it.
	Since uint64
}

// Changes returns what a member that acts upon before has to do to act upon
// after, for those of the namespaces where that is anything, in their order.
// Before is the zero View when it starts.
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

// legacy is what somebody who is gone may have left of an epoch, from since on.
type legacy struct {
	epoch int64
	from  string
	since uint64
}

// legacies are all that the member has inherited in namespace; ok is whether it
// has to observe it at all.
func (v View) legacies(namespace string) (out []legacy, ok bool) {
	if v.self == "" {
		return nil, false
	}
	ok = namespace == ""
	epochs := v.table.Epochs
	if p := v.table.Pending; p != nil { // as if it began after all that is
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

// inherit reports whether the member owns what began in namespace in the first
// of the epochs, and what others have left to it there.
func (v View) inherit(epochs []Epoch, namespace string) (out []legacy, mine bool) {
	first := &epochs[0]
	for i := range epochs {
		e := &epochs[i]
		owner := e.owner(namespace)
		for _, g := range e.before(owner, namespace) {
			if len(epochs) > 1 && g.Since >= epochs[1].From {
				continue // it had nothing left of the first one
			}
			out = append(out, legacy{epoch: first.ID, from: g.Identity, since: max(g.Since, first.From, 1)})
		}
		if owner != "" {
			return out, owner == v.self
		}
	}
	return nil, false
}

// Lower returns the lower of two resourceVersions, of which 0 is none.
func Lower(a, b uint64) uint64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
