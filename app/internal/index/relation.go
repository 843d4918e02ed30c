// SPDX-License-Identifier: Apache-2.0

package index

import (
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// relations are the references between objects by name.
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

// Relate updates the index after the new version fresh of t, or with nil after another change of t.
func (x *Index) Relate(t *change.Timeline, fresh *history.Version) {
	if names := change.Names(t); !slices.Equal(names, t.Names()) {
		for _, n := range t.Names() {
			remove(x.relations.named, n, t)
		}
		for _, n := range names {
			if !slices.Contains(t.Names(), n) {
				x.relations.matched(n, len(x.relations.referrers[n]))
			}
			x.relations.named[n] = append(x.relations.named[n], t)
		}
		t.SetNames(names)
	}
	refers := change.Relations(t, fresh)
	if slices.Equal(refers, t.Refers()) {
		return
	}
	for _, r := range t.Refers() {
		remove(x.relations.referrers, r.To, t)
	}
	for _, r := range refers {
		if !slices.Contains(t.Refers(), r) {
			x.relations.matched(r.To, len(x.relations.named[r.To]))
		}
		if all := x.relations.referrers[r.To]; !slices.Contains(all, t) {
			x.relations.referrers[r.To] = append(all, t)
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

// unrelate removes t from the index.
func (x *Index) unrelate(t *change.Timeline) {
	for _, r := range t.Refers() {
		remove(x.relations.referrers, r.To, t)
	}
	for _, n := range t.Names() {
		remove(x.relations.named, n, t)
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
