// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// kindState is the state of a kind between its definition and discovery. The two are not synchronized:
// either may be the first to show a kind.
//
//	           defined    removed  in discovery  not in discovery
//	---------  ---------  -------  ------------  ----------------
//	unknown    announced  leaving  undefined     unknown
//	announced  announced  leaving  settled       announced
//	undefined  announced  leaving  settled       undefined
//	settled    settled    leaving  settled       settled
//	leaving    announced  leaving  leaving       unknown
type kindState uint8

const (
	unknownKind kindState = iota
	// announced kinds have a definition, and are not in discovery yet.
	announced
	// undefined kinds are in discovery for the first time, without a definition.
	undefined
	// settled kinds are in discovery. They have a definition, existed at the start, or have no readable
	// definition.
	settled
	// leaving kinds are still in discovery, but their definition is gone.
	leaving
)

// newKind is a kind, with the version at which its watch starts. It is 0 for kinds that existed before,
// or whose definition cannot be read.
type newKind struct {
	state kindState
	from  uint64
}

// newKinds tracks the kinds that appear and disappear during the watch. A new kind is watched from
// the version of its CustomResourceDefinition on, so that its first objects count as live. It is safe
// for concurrent use.
type newKinds struct {
	changed chan struct{}

	mu    sync.Mutex
	kinds map[schema.GroupResource]newKind
	// dropped kinds must not be watched any more.
	dropped []droppedKind
}

// droppedKind is a kind whose definition was removed at that version.
type droppedKind struct {
	schema.GroupResource
	version uint64
}

func trackNewKinds() *newKinds {
	return &newKinds{kinds: map[schema.GroupResource]newKind{}, changed: make(chan struct{}, 1)}
}

// stood records the kinds that existed at the start, with their start versions.
func (n *newKinds) stood(all []resource, from func(resource) uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range all {
		n.kinds[r.GroupResource()] = newKind{settled, from(r)}
	}
}

// note records an observation of a CustomResourceDefinition.
func (n *newKinds) note(o *observation.Observation) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case o.Gone != nil:
		gr := schema.ParseGroupResource(o.Gone.Name)
		n.kinds[gr] = newKind{state: leaving}
		n.dropped = append(n.dropped, droppedKind{gr, o.Gone.ResourceVersion})
	case o.State != nil && !o.Baseline:
		gr := schema.ParseGroupResource(o.State.Name)
		if s := n.kinds[gr].state; s == announced || s == settled {
			return
		}
		n.kinds[gr] = newKind{announced, o.State.ResourceVersion}
	default:
		return
	}
	select {
	case n.changed <- struct{}{}:
	default:
	}
}

// offered records the kinds in discovery and reports whether discovery and the definitions agree. A
// kind without a definition in two calls has no readable definition; its current objects become its
// Baseline.
func (n *newKinds) offered(all []resource) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	agree := true
	there := make(map[schema.GroupResource]bool, len(all))
	for _, r := range all {
		gr := r.GroupResource()
		if there[gr] {
			continue
		}
		there[gr] = true
		k := n.kinds[gr]
		switch k.state {
		case unknownKind:
			k.state = undefined
			agree = false
		case announced, undefined:
			k.state = settled
		case settled, leaving:
		}
		n.kinds[gr] = k
	}
	for gr, k := range n.kinds {
		switch {
		case there[gr]:
		case k.state == leaving:
			delete(n.kinds, gr)
		case k.state == announced:
			agree = false
		}
	}
	return agree
}

// since returns the start version of a resource; known is false until the resource should be
// watched.
func (n *newKinds) since(gr schema.GroupResource) (version uint64, known bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	k := n.kinds[gr]
	return k.from, k.state == announced || k.state == settled
}

func (n *newKinds) takeDropped() []droppedKind {
	n.mu.Lock()
	defer n.mu.Unlock()
	dropped := n.dropped
	n.dropped = nil
	return dropped
}
