// SPDX-License-Identifier: Apache-2.0

package health

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// maxKinds bounds the kinds whose signals are remembered.
const maxKinds = 4096

// established is the age of an object without any sign of its state after which its kind counts as silent.
const established = time.Minute

// Signals remembers what the kinds show of the state of their objects. An object of a kind that shows it
// waits for its controller while it shows nothing. The zero value is usable, and safe for concurrent use.
type Signals struct {
	mu    sync.RWMutex
	kinds map[schema.GroupKind]signal
}

// signal is what is known of one kind.
type signal struct {
	// shown means that an object, or the definition, shows that objects have a state.
	shown bool
	// status means that the definition has a status.
	status bool
	// silent is the creation of the oldest object that shows nothing; zero without one.
	silent time.Time
}

// Add adds a kind that shows its state.
func (s *Signals) Add(kind schema.GroupKind) {
	if !s.of(kind).shown {
		s.update(kind, func(known *signal) { known.shown = true })
	}
}

// Names returns the kinds that show their state, as Kind.group, sorted.
func (s *Signals) Names() []string {
	var out []string
	for _, kind := range s.all(func(of signal) bool { return of.shown }) {
		out = append(out, kind.String())
	}
	return out
}

// Silent returns the kinds with objects of which none shows its state, sorted.
func (s *Signals) Silent() []schema.GroupKind {
	return s.all(func(of signal) bool { return !of.shown && !of.silent.IsZero() })
}

func (s *Signals) all(is func(signal) bool) []schema.GroupKind {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []schema.GroupKind
	for kind, of := range s.kinds {
		if is(of) {
			out = append(out, kind)
		}
	}
	slices.SortFunc(out, func(a, b schema.GroupKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	})
	return out
}

// of returns what is known of the kind.
func (s *Signals) of(kind schema.GroupKind) signal {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.kinds[kind]
}

// update changes what is known of the kind, unless too many kinds are known.
func (s *Signals) update(kind schema.GroupKind, change func(*signal)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, found := s.kinds[kind]
	if !found && len(s.kinds) >= maxKinds {
		return
	}
	if s.kinds == nil {
		s.kinds = map[schema.GroupKind]signal{}
	}
	change(&known)
	s.kinds[kind] = known
}

// quiet notes an object that shows nothing, and reports whether its first status may follow: the kind has a
// status, and no object of it that is older by a minute shows nothing.
func (s *Signals) quiet(kind schema.GroupKind, created time.Time) bool {
	known := s.of(kind)
	if known.silent.IsZero() || created.Before(known.silent) {
		s.update(kind, func(known *signal) { known.silent = created })
	}
	return known.status && (known.silent.IsZero() || created.Sub(known.silent) < established)
}

// Define notes what a CustomResourceDefinition promises. A column with a condition or a state means that the
// objects show it.
func (s *Signals) Define(definition map[string]any) {
	spec := sub(definition, "spec")
	kind := schema.GroupKind{Group: raw(spec, "group"), Kind: raw(sub(spec, "names"), "kind")}
	promised := s.of(kind)
	for _, item := range items(spec, "versions") {
		version, _ := item.(fields)
		if !truth(version, "served") {
			continue
		}
		promised.status = promised.status || sub(version, "subresources")["status"] != nil
		for _, c := range items(version, "additionalPrinterColumns") {
			column, _ := c.(fields)
			promised.shown = promised.shown || ofStatus(raw(column, "jsonPath"))
		}
	}
	if promised.status || promised.shown {
		s.update(kind, func(known *signal) {
			known.status, known.shown = known.status || promised.status, known.shown || promised.shown
		})
	}
}

// ofStatus reports whether the path of a column leads to a condition or to a state.
func ofStatus(path string) bool {
	name, found := strings.CutPrefix(path, ".status.")
	name, _, _ = strings.Cut(strings.ReplaceAll(name, "[", "."), ".")
	return found && (name == "conditions" || name == "ready" || isState(name))
}
