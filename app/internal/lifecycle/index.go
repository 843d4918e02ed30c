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
	// groups hold the timelines that may have writes to tell, or something to forget: all that are not
	// idle.
	groups groups
	// dependants are the objects that name an owner, by the owner's UID.
	dependants map[types.UID][]*timeline
	// names are the timelines by the names of their objects; nil until somebody
	// asks.
	names map[subject][]*timeline
}

func newIndex() index {
	return index{groups: newGroups(), dependants: map[types.UID][]*timeline{}}
}

// idle reports whether nothing has happened to the object that a trace could
// tell or that could be forgotten: it is there, as it was.
func (t *timeline) idle(rebuild bool) bool {
	return t.removal == nil && len(t.events)+len(t.requests) == 0 && t.audits == nil && len(t.versions) == 1 &&
		t.versions[0].baseline &&
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

// owns reports whether o, which t names as an owner, can be one: an owner is in the
// same namespace, or in none. Who may write t could name any UID.
func (e *Engine) owns(o object.Owner, t *timeline) bool {
	up := e.objects[o.UID]
	return up == nil || up.ref.Namespace == "" || up.ref.Namespace == t.ref.Namespace
}

// dependantsOf are the objects that name an object as an owner which it can be.
func (e *Engine) dependantsOf(uid types.UID) []*timeline {
	all, up := e.dependants[uid], e.objects[uid]
	strange := func(t *timeline) bool { return t.ref.Namespace != up.ref.Namespace }
	if up == nil || up.ref.Namespace == "" || !slices.ContainsFunc(all, strange) {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), strange)
}

// controllerOf is the owner that is the controller of t, or nil.
func (e *Engine) controllerOf(t *timeline) *object.Owner {
	if o := object.ControllerOf(t.owners()); o != nil && e.owns(*o, t) {
		return o
	}
	return nil
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
	if g := e.groups.of[t]; g != nil {
		delete(g.members, t)
		delete(e.groups.of, t)
		g.change()
	}
	delete(e.objects, t.ref.UID)
	e.forgetNode(t)
}

// reindex makes the index anew.
func (e *Engine) reindex() {
	e.index = newIndex()
	for _, t := range e.objects {
		t.above = nil
		e.doubt(t)
		e.reown(t)
	}
	e.regroup(func(t *timeline) bool { return !t.idle(e.opts.Rebuild) })
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
