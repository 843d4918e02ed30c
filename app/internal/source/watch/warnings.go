// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// warnings says each thing once.
type warnings struct {
	mu     sync.Mutex
	tell   func(format string, args ...any)
	said   map[string]bool
	denied map[string][]string // by namespace, not said yet
}

func makeWarnings(tell func(string, ...any)) warnings {
	if tell == nil {
		tell = func(string, ...any) {}
	}
	return warnings{tell: tell, said: map[string]bool{}, denied: map[string][]string{}}
}

// once warns, but not of the same thing twice.
func (w *warnings) once(thing, format string, args ...any) {
	if w.first(thing) {
		w.tell(format, args...)
	}
}

func (w *warnings) first(thing string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	again := w.said[thing]
	w.said[thing] = true
	return !again
}

// again lets once warn of that thing once more.
func (w *warnings) again(thing string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.said, thing)
}

// forbidden notes a resource that may not be read. Who has rights in one
// namespace lacks many, so they are named together, at the next flush.
func (w *warnings) forbidden(gr schema.GroupResource, namespace string) {
	if !w.first("forbidden " + gr.String() + " " + namespace) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.denied[namespace] = append(w.denied[namespace], gr.String())
}

// flush says what forbidden noted.
func (w *warnings) flush() {
	w.mu.Lock()
	denied := w.denied
	w.denied = map[string][]string{}
	w.mu.Unlock()
	for namespace, names := range denied {
		slices.Sort(names)
		where := "in the whole cluster"
		if namespace != "" {
			where = "in namespace " + namespace
		}
		w.tell("not permitted to watch %s: %s; going on without", where, strings.Join(names, ", "))
	}
}
