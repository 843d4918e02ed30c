// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"iter"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// memory is the state of an earlier Watcher: the positions of its streams and the objects that it
// knew. Each stream takes its part once.
type memory struct {
	mu        sync.Mutex
	positions map[key]Position
	known     iter.Seq2[object.Ref, uint64]
	objects   map[schema.GroupKind]map[uidKey]held
	// kindsFrom is the position of the stream of CustomResourceDefinitions; 0 means unknown.
	kindsFrom uint64
}

func remember(cfg Config) *memory {
	m := &memory{positions: map[key]Position{}, known: cfg.Known}
	for _, p := range cfg.Resume {
		if p.Version == "" || p.Version == "0" {
			continue
		}
		m.positions[p.key()] = p
		if p.Resource.GroupResource() == crds {
			m.kindsFrom, _ = strconv.ParseUint(p.Version, 10, 64)
		}
	}
	return m
}

// recall reads the known objects on its first call.
func (m *memory) recall() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		return
	}
	m.objects = map[schema.GroupKind]map[uidKey]held{}
	for ref, version := range m.known {
		gk := groupKind(ref.Kind)
		if m.objects[gk] == nil {
			m.objects[gk] = map[uidKey]held{}
		}
		m.objects[gk][ref.UID] = held{version: version, kind: ref.Kind, namespace: ref.Namespace, name: ref.Name}
	}
	m.known = nil
}

// take returns a stream's earlier version and known objects. The version is empty without a position:
// the earlier process ended during the first list, and knew a part of it. An unknown kind has no objects.
func (m *memory) take(k key, kind string) (version string, objects map[uidKey]held) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.positions[k]
	delete(m.positions, k)
	gk := schema.GroupKind{Group: k.Group, Kind: kind}
	all := m.objects[gk]
	if k.namespace == "" && k.name == "" && all != nil {
		delete(m.objects, gk)
		return p.Version, all
	}
	objects = map[uidKey]held{}
	for uid, h := range all {
		if (k.namespace == "" || k.namespace == h.namespace) && (k.name == "" || k.name == h.name) {
			objects[uid] = h
			delete(all, uid)
		}
	}
	return p.Version, objects
}

// from returns the start version for a kind without a position, when other kinds resume. Its
// CustomResourceDefinition may be new since then, and then its first objects are changes.
// Kubernetes' own kinds have no definition; they return 0.
func (m *memory) from(r resource) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !mayCauseAnything(r.GroupResource()) {
		return 0
	}
	for k := range m.positions {
		if k.GroupResource == r.GroupResource() {
			return 0
		}
	}
	return m.kindsFrom
}

// orphaned takes the objects of a resource that was removed while no process watched. Discovery no
// longer lists its kind, so the guessed plural identifies it.
func (m *memory) orphaned(gr schema.GroupResource) map[uidKey]held {
	m.mu.Lock()
	defer m.mu.Unlock()
	for gk, objects := range m.objects {
		plural, _ := meta.UnsafeGuessKindToResource(gk.WithVersion(""))
		if gk.Group == gr.Group && plural.Resource == gr.Resource {
			delete(m.objects, gk)
			return objects
		}
	}
	return nil
}

// leftover takes the positions in a resource without a stream.
func (m *memory) leftover(gr schema.GroupResource) []Position {
	m.mu.Lock()
	defer m.mu.Unlock()
	var left []Position
	for k, p := range m.positions {
		if k.GroupResource == gr {
			delete(m.positions, k)
			left = append(left, p)
		}
	}
	return left
}
