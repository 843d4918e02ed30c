// SPDX-License-Identifier: Apache-2.0

package health

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// maxKinds bounds the kinds whose signals are remembered.
const maxKinds = 4096

// Signals remembers the kinds whose objects show their state by the names of conditions or states. An
// object of such a kind that shows nothing waits for its controller. The zero value is usable, and safe
// for concurrent use.
type Signals struct {
	mu sync.RWMutex
	// kinds is true for a kind that shows its state, and false for one of which no object has.
	kinds map[schema.GroupKind]bool
}

// Add adds a kind that shows its state.
func (s *Signals) Add(kind schema.GroupKind) { s.note(kind, true) }

// Names returns the kinds that show their state, as Kind.group, sorted.
func (s *Signals) Names() []string {
	var out []string
	for _, kind := range s.all(true) {
		out = append(out, kind.String())
	}
	return out
}

// Silent returns the kinds of which no object shows its state, sorted.
func (s *Signals) Silent() []schema.GroupKind { return s.all(false) }

func (s *Signals) all(shown bool) []schema.GroupKind {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []schema.GroupKind
	for kind, is := range s.kinds {
		if is == shown {
			out = append(out, kind)
		}
	}
	slices.SortFunc(out, func(a, b schema.GroupKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	})
	return out
}

// of reports whether the kind shows its state.
func (s *Signals) of(kind schema.GroupKind) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.kinds[kind]
}

// note notes an object of the kind. A kind that has shown its state once always shows it.
func (s *Signals) note(kind schema.GroupKind, shown bool) {
	s.mu.RLock()
	is, known := s.kinds[kind]
	s.mu.RUnlock()
	if known && (is || !shown) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kinds == nil {
		s.kinds = map[schema.GroupKind]bool{}
	}
	if _, known = s.kinds[kind]; known || len(s.kinds) < maxKinds {
		s.kinds[kind] = s.kinds[kind] || shown
	}
}

// Define adds the kind of a CustomResourceDefinition with a column that shows the status. Its authors
// promise that the controller writes one.
func (s *Signals) Define(definition map[string]any) {
	spec := sub(definition, "spec")
	kind := schema.GroupKind{Group: raw(spec, "group"), Kind: raw(sub(spec, "names"), "kind")}
	for _, item := range items(spec, "versions") {
		version, _ := item.(fields)
		for _, c := range items(version, "additionalPrinterColumns") {
			column, _ := c.(fields)
			if ofStatus(raw(column, "jsonPath")) && truth(version, "served") {
				s.Add(kind)
				return
			}
		}
	}
}

// ofStatus reports whether the path of a column leads to a condition or to a state.
func ofStatus(path string) bool {
	name, found := strings.CutPrefix(path, ".status.")
	name, _, _ = strings.Cut(strings.ReplaceAll(name, "[", "."), ".")
	return found && (name == "conditions" || name == "ready" || isState(name))
}
