// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// newKinds tracks the kinds that appear and disappear during the watch. A new kind is watched from
// the version of its CustomResourceDefinition on, so that its first objects count as live.
//
// Discovery and the watch of the definitions are not synchronized: either may be the first to show
// a kind.
type newKinds struct {
	mu sync.Mutex
	// from maps each kind to the start version of its watch. It is 0 for kinds that existed before,
	// or whose definition cannot be read.
	from map[schema.GroupResource]uint64
	// defined kinds are not in discovery yet. undefined kinds are in discovery without a
	// definition. leaving kinds are still in discovery, but their definition is gone.
	defined, undefined, leaving map[schema.GroupResource]bool
	// dropped kinds must not be watched any more.
	dropped []droppedKind
	changed chan struct{}
}

// droppedKind is a kind whose definition was removed at that version.
type droppedKind struct {
	schema.GroupResource
	version uint64
}

func newNewKinds() *newKinds {
	return &newKinds{
		from:      map[schema.GroupResource]uint64{},
		defined:   map[schema.GroupResource]bool{},
		undefined: map[schema.GroupResource]bool{},
		leaving:   map[schema.GroupResource]bool{},
		changed:   make(chan struct{}, 1),
	}
}

// stood records the kinds that existed at the start, with their start versions.
func (n *newKinds) stood(all []resource, from func(resource) uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range all {
		n.from[r.GroupResource()] = from(r)
	}
}

// note records an observation of a CustomResourceDefinition.
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

// offered records the kinds in discovery and reports whether discovery and the definitions agree. A
// kind without a definition in two consecutive calls has no readable definition; its current
// objects become its Baseline.
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

// since returns the start version of a resource; known is false until the resource should be
// watched.
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
