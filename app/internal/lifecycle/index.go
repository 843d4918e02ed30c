// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// index is what spares an engine that remembers many objects to look at all of
// them. It follows from the timelines and holds no knowledge of its own.
type index struct {
	// active are the timelines that may have writes to tell, or something to
	// forget: all that are not idle.
	active map[*timeline]struct{}
	// dependants are the objects that name an owner, by the owner's UID.
	dependants map[types.UID][]*timeline
	// names are the timelines by the names of their objects; nil until somebody
	// asks.
	names map[subject][]*timeline
}

func newIndex() index {
	return index{active: map[*timeline]struct{}{}, dependants: map[types.UID][]*timeline{}}
}

// idle reports whether nothing has happened to the object that a trace could
// tell or that could be forgotten: it is there, as it was.
func (t *timeline) idle(rebuild bool) bool {
	return t.removal == nil && len(t.events)+len(t.requests) == 0 && t.audits == nil && len(t.versions) == 1 && t.versions[0].baseline &&
		(t.folded || !t.reconstructs(t.versions[0], rebuild))
}

// reown brings the index up to date with the owners of t, which may have
// changed.
func (e *Engine) reown(t *timeline) {
	owners := t.newestOwners()
	if slices.Equal(t.above, owners) {
		t.above = owners
		return
	}
	e.disown(t)
	t.above = owners
	for _, o := range owners {
		e.dependants[o.UID] = append(e.dependants[o.UID], t)
	}
}

// disown takes t from the dependants of its owners.
func (e *Engine) disown(t *timeline) {
	for _, o := range t.above {
		left := slices.DeleteFunc(e.dependants[o.UID], func(d *timeline) bool { return d == t })
		if len(left) == 0 {
			delete(e.dependants, o.UID)
			continue
		}
		e.dependants[o.UID] = left
	}
	t.above = nil
}

// drop removes t from all that is known.
func (e *Engine) drop(t *timeline) {
	e.disown(t)
	e.unname(t)
	delete(e.active, t)
	delete(e.objects, t.ref.UID)
	e.forgetNode(t)
}

// reindex makes the index anew.
func (e *Engine) reindex() {
	e.index = newIndex()
	for _, t := range e.objects {
		t.above = nil
		t.doubt()
		e.reown(t)
		if !t.idle(e.opts.Rebuild) {
			e.active[t] = struct{}{}
		}
	}
}

// newestOwners are the owners as last known.
func (t *timeline) newestOwners() []object.Owner {
	for i := len(t.versions) - 1; i >= 0; i-- {
		if o := t.versions[i].Owners; len(o) > 0 {
			return o
		}
	}
	return nil
}
