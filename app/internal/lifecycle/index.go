// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// index avoids a search through all objects of the Engine. It is derived from the timelines, and
// contains no other data.
type index struct {
	// groups hold the timelines that are not idle: those with possible writes for spans, or with
	// data to forget.
	groups groups
	// dependants are the objects with an ownerReference, by the owner's UID.
	dependants map[types.UID][]*change.Timeline
	relations  relations
	// pods are the Pods in groups, by their keys in EndpointSlices. slices are the numbers of known
	// EndpointSlices, by namespace.
	pods   map[observation.EndpointKey]*change.Timeline
	slices map[string]int
	// names are the timelines by the names of their objects; nil until first use.
	names map[subject][]*change.Timeline
	// nodesByName are the Nodes; of several with one name, the newest one. turned are the names of those
	// whose readiness has changed since the last look.
	nodesByName map[string]*nodeState
	turned      map[string]bool
}

// nodeState is a Node, with the status of its condition Ready.
type nodeState struct {
	timeline *change.Timeline
	ready    string
}

func newIndex() index {
	return index{
		groups: newGroups(), dependants: map[types.UID][]*change.Timeline{}, relations: newRelations(),
		pods: map[observation.EndpointKey]*change.Timeline{}, slices: map[string]int{},
		nodesByName: map[string]*nodeState{}, turned: map[string]bool{},
	}
}

// reown updates the index after a possible change of the owners of t.
func (e *Engine) reown(t *change.Timeline) {
	owners := t.NewestOwners()
	if slices.Equal(t.Above, owners) {
		t.Above = owners
		return
	}
	e.disown(t)
	t.Above = owners
	for _, o := range owners {
		e.dependants[o.UID] = append(e.dependants[o.UID], t)
	}
}

// Controller returns the controller owner of t, or nil.
func (d *derivation) Controller(t *change.Timeline) *object.Owner { return d.engine.controllerOf(t) }

// Object returns the object of that UID, or nil.
func (d *derivation) Object(uid types.UID) *change.Timeline { return d.engine.object(uid) }

// Owns reports whether o, an owner reference of t, is possible.
func (d *derivation) Owns(o object.Owner, t *change.Timeline) bool { return d.engine.owns(o, t) }

// Dependants returns the objects with that owner.
func (d *derivation) Dependants(owner types.UID) []*change.Timeline {
	return d.engine.dependantsOf(owner)
}

// Taken returns the remaining data of a trace that was handed out.
func (d *derivation) Taken(id trace.TraceID) (cause.Taken, bool) {
	t, known := d.engine.taken[id]
	return t, known
}

// owns reports whether o, an ownerReference of t, is possible: an owner is in the same namespace,
// or in none. An author of t could write any UID.
func (e *Engine) owns(o object.Owner, t *change.Timeline) bool {
	up := e.object(o.UID)
	return up == nil || mayOwn(up, t)
}

// mayOwn reports whether the object of up may be an owner of the object of t.
func mayOwn(up, t *change.Timeline) bool {
	return up.Ref.Namespace == "" || up.Ref.Namespace == t.Ref.Namespace
}

// dependantsOf returns the objects with a possible ownerReference to the object (see owns).
func (e *Engine) dependantsOf(uid types.UID) []*change.Timeline {
	all, up := e.dependants[uid], e.object(uid)
	strange := func(t *change.Timeline) bool { return t.Ref.Namespace != up.Ref.Namespace }
	if up == nil || up.Ref.Namespace == "" || !slices.ContainsFunc(all, strange) {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), strange)
}

// controllerOf returns the controller owner of t, or nil.
func (e *Engine) controllerOf(t *change.Timeline) *object.Owner {
	if o := object.ControllerOf(t.Owners()); o != nil && e.owns(*o, t) {
		return o
	}
	return nil
}

// controllerAbove returns the timeline of the controller owner of t, or nil.
func (e *Engine) controllerAbove(t *change.Timeline) *change.Timeline {
	o := object.ControllerOf(t.Owners())
	if o == nil {
		return nil
	}
	up := e.object(o.UID)
	if up == nil || !mayOwn(up, t) {
		return nil
	}
	return up
}

// disown removes t from the dependants of its owners.
func (e *Engine) disown(t *change.Timeline) {
	for _, o := range t.Above {
		left := slices.DeleteFunc(e.dependants[o.UID], func(d *change.Timeline) bool { return d == t })
		if len(left) == 0 {
			delete(e.dependants, o.UID)
			continue
		}
		e.dependants[o.UID] = left
	}
	t.Above = nil
}

// drop removes t from the Engine and its index.
func (e *Engine) drop(t *change.Timeline) {
	e.disown(t)
	e.unrelate(t)
	e.unname(t)
	e.leave(t)
	if g := e.groups.of[t]; g != nil {
		delete(g.members, t)
		delete(e.groups.of, t)
		g.change()
	}
	if n := e.nodesByName[t.Ref.Name]; n != nil && n.timeline == t {
		delete(e.nodesByName, t.Ref.Name)
	}
	delete(e.objects, t.Ref.UID)
	delete(e.contests, t.Ref.UID)
	e.forgetNode(t)
}

// forgetNode forgets the attributes of a Node for the spans of its Pods, unless another Node has
// its name now.
func (e *Engine) forgetNode(t *change.Timeline) {
	if !kind.Node.Is(t.Ref.Kind) || e.nodes[t.Ref.Name] == nil {
		return
	}
	for _, other := range e.objects {
		if other != t && other.Ref.Kind == t.Ref.Kind && other.Ref.Name == t.Ref.Name {
			return
		}
	}
	delete(e.nodes, t.Ref.Name)
	e.groups.nodeGone = true
}

// reindex builds a new index.
func (e *Engine) reindex() {
	e.index = newIndex()
	for _, t := range e.objects {
		t.Above = nil
		t.SetRefers(nil)
		t.SetNames(nil)
		e.doubt(t)
		e.reown(t)
		e.relate(t, nil)
		e.noteNode(t)
		if len(t.Versions) > 0 {
			e.first(t)
		}
	}
	e.regroup(func(t *change.Timeline) bool { return !t.Idle(e.opts.Rebuild) })
}

// object returns the object of that UID, or nil.
func (e *Engine) object(uid types.UID) *change.Timeline { return e.objects[uid] }

// attributesOf returns the attributes of the Node of that name for the spans of its Pods, or nil.
func (e *Engine) attributesOf(node string) *observation.Node { return e.nodes[node] }

// claiming returns the objects with an ownerReference to the object, also an impossible one (see owns).
func (e *Engine) claiming(owner types.UID) []*change.Timeline { return e.dependants[owner] }

// namedBy returns the objects with that name.
func (e *Engine) namedBy(name object.Name) []*change.Timeline { return e.relations.named[name] }

// referrers returns the objects with a relation to that name.
func (e *Engine) referrers(name object.Name) []*change.Timeline { return e.relations.referrers[name] }
