// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"maps"
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// relations is the index of the references between objects by name.
type relations struct {
	// referrers are the objects with a relation to a name.
	referrers map[object.Name][]*change.Timeline
	// named are the objects with a name.
	named map[object.Name][]*change.Timeline
	// matches counts the pairs of objects found related, by the relation in the configuration.
	matches map[string]uint64
}

func newRelations() relations {
	return relations{
		referrers: map[object.Name][]*change.Timeline{}, named: map[object.Name][]*change.Timeline{},
		matches: map[string]uint64{},
	}
}

// relate updates the index after the new version fresh of t, or with nil after another change of t.
func (e *Engine) relate(t *change.Timeline, fresh *history.Version) {
	if names := change.Names(t); !slices.Equal(names, t.Names()) {
		for _, n := range t.Names() {
			remove(e.relations.named, n, t)
		}
		for _, n := range names {
			if !slices.Contains(t.Names(), n) {
				e.relations.matched(n, len(e.relations.referrers[n]))
			}
			e.relations.named[n] = append(e.relations.named[n], t)
		}
		t.SetNames(names)
	}
	refers := change.Relations(t, fresh)
	if slices.Equal(refers, t.Refers()) {
		return
	}
	for _, r := range t.Refers() {
		remove(e.relations.referrers, r.To, t)
	}
	for _, r := range refers {
		if !slices.Contains(t.Refers(), r) {
			e.relations.matched(r.To, len(e.relations.named[r.To]))
		}
		if all := e.relations.referrers[r.To]; !slices.Contains(all, t) {
			e.relations.referrers[r.To] = append(all, t)
		}
	}
	t.SetRefers(refers)
}

// matched counts n pairs of objects with the name, if that is a key in a relation of the
// configuration.
func (r *relations) matched(name object.Name, n int) {
	if of, declared := name.Declared(); declared && n > 0 {
		r.matches[of] += uint64(n)
	}
}

// Matches returns the numbers of pairs of objects found related since the start, by the relation in
// the configuration. A pair counts again after a change of a key.
func (e *Engine) Matches() map[string]uint64 { return maps.Clone(e.relations.matches) }

// unrelate removes t from the index.
func (e *Engine) unrelate(t *change.Timeline) {
	for _, r := range t.Refers() {
		remove(e.relations.referrers, r.To, t)
	}
	for _, n := range t.Names() {
		remove(e.relations.named, n, t)
	}
	t.SetRefers(nil)
	t.SetNames(nil)
}

// remove removes t from the list of the name.
func remove(all map[object.Name][]*change.Timeline, name object.Name, t *change.Timeline) {
	left := slices.DeleteFunc(all[name], func(other *change.Timeline) bool { return other == t })
	if len(left) == 0 {
		delete(all, name)
		return
	}
	all[name] = left
}

// keyOf returns the key of the group with an object of that name.
func keyOf(n object.Name) subject {
	return subject{Group: n.Group, Kind: n.Kind, Namespace: n.Namespace, Name: n.Name}
}

// tieRelations connects the group of t with the changing objects related to t, in both directions.
// An unchanged object connects nothing: many workloads may read one ConfigMap.
func (e *Engine) tieRelations(g *group, t *change.Timeline) *group {
	for _, r := range t.Refers() {
		if uid, ok := r.To.UID(); ok {
			g = e.groups.tieUID(g, uid)
		} else if key := keyOf(r.To); e.groups.byName[key] != nil && e.connects(r) {
			g = e.groups.tieName(g, key)
		}
	}
	if t.Idle(false) {
		return g
	}
	for _, name := range t.Names() {
		key := keyOf(name)
		g = e.groups.tieName(g, key)
		for _, other := range e.referrers(name) {
			if of := e.groups.of[other]; of != nil && of != g && e.refersTo(other, name) {
				g = e.groups.tieName(of, key)
			}
		}
	}
	return g
}

// connects reports whether the relation r connects groups. A Node connects the Pods of DaemonSets only
// while a change of the Node is known: its status changes often.
func (e *Engine) connects(r object.Relation) bool {
	return r.Type != object.Placed || slices.ContainsFunc(e.namedBy(r.To), changes)
}

// refersTo reports whether t has a relation to the name that connects groups.
func (e *Engine) refersTo(t *change.Timeline, name object.Name) bool {
	return slices.ContainsFunc(t.Refers(), func(r object.Relation) bool { return r.To == name && e.connects(r) })
}

// changes reports whether a version of t differs from the one before outside its status, or created
// the object.
func changes(t *change.Timeline) bool {
	for i, v := range t.Versions {
		if i == 0 && (!v.Baseline || change.Found(v)) || i > 0 && v.Fields != t.Versions[i-1].Fields {
			return true
		}
	}
	return t.Removal != nil
}

// changedReferrers marks the groups with a relation to t as changed.
func (e *Engine) changedReferrers(t *change.Timeline) {
	for _, name := range t.Names() {
		for _, other := range e.referrers(name) {
			if g := e.groups.of[other]; g != nil {
				g.change()
			}
		}
	}
}

// Named returns the objects with that name.
func (d *derivation) Named(name object.Name) []*change.Timeline {
	return d.engine.relations.named[name]
}

// Referrers returns the objects with a relation to that name.
func (d *derivation) Referrers(name object.Name) []*change.Timeline {
	return d.engine.relations.referrers[name]
}
