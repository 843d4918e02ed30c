// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// newKinds keeps which kinds came and went while watching. A kind that came is
// watched from the version of its CustomResourceDefinition on, so that its
// first objects are seen to happen.
//
// Discovery and the watch of the definitions are not in step: either may be
// the first to show a kind.
type newKinds struct {
	mu sync.Mutex
	// from is the version from which a kind is watched: 0 for those that were
	// there, or whose definition is not to be seen.
	from map[schema.GroupResource]uint64
	// defined kinds are not in discovery yet, undefined ones are there without
	// a definition, and leaving ones still are though theirs is gone.
	defined, undefined, leaving map[schema.GroupResource]bool
	// dropped kinds are to be watched no more.
	dropped []droppedKind
	changed chan struct{}
}

// droppedKind is a kind that is not defined any more, since that version.
type droppedKind struct {
	schema.GroupResource
	version uint64
}

func makeNewKinds() newKinds {
	return newKinds{
		from:      map[schema.GroupResource]uint64{},
		defined:   map[schema.GroupResource]bool{},
		undefined: map[schema.GroupResource]bool{},
		leaving:   map[schema.GroupResource]bool{},
		changed:   make(chan struct{}, 1),
	}
}

// stood takes the kinds that were there when watching began, and from which
// version on they are watched.
func (n *newKinds) stood(all []resource, from func(resource) uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range all {
		n.from[r.GroupResource()] = from(r)
	}
}

// note takes an observation of a CustomResourceDefinition.
func (n *newKinds) note(o *observation.Observation) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case o.Gone != nil:
		gr := schema.ParseGroupResource(o.Gone.Name)
		delete(n.from, gr)
		delete(n.defined, gr)
		n.leaving[gr] = true
		n.dropped = append(n.dropped, droppedKind{gr, o.Gone.ResourceVersion})
	case o.State != nil && !o.Baseline:
		gr := schema.ParseGroupResource(o.State.Name)
		if _, known := n.from[gr]; known {
			return
		}
		n.from[gr] = o.State.ResourceVersion
		n.defined[gr] = true
		delete(n.undefined, gr)
		delete(n.leaving, gr)
	default:
		return
	}
	select {
	case n.changed <- struct{}{}:
	default:
	}
}

// offered takes what discovery shows, and reports whether that and the
// definitions agree. A kind that is offered twice without a definition has none
// to be seen: what there is of it then is how things stand.
func (n *newKinds) offered(all []resource) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	agree := true
	there := map[schema.GroupResource]bool{}
	for _, r := range all {
		gr := r.GroupResource()
		there[gr] = true
		delete(n.defined, gr)
		if _, known := n.from[gr]; known || n.leaving[gr] {
			continue
		}
		if n.undefined[gr] {
			n.from[gr] = 0
			delete(n.undefined, gr)
			continue
		}
		n.undefined[gr] = true
		agree = false
	}
	maps.DeleteFunc(n.leaving, func(gr schema.GroupResource, _ bool) bool { return !there[gr] })
	return agree && len(n.defined) == 0
}

// since returns the version from which a resource is to be watched, if it is
// time to.
func (n *newKinds) since(gr schema.GroupResource) (version uint64, known bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	version, known = n.from[gr]
	return version, known
}

func (n *newKinds) takeDropped() []droppedKind {
	n.mu.Lock()
	defer n.mu.Unlock()
	dropped := n.dropped
	n.dropped = nil
	return dropped
}
