// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// warnings reports each thing once.
type warnings struct {
	tell     func(format string, args ...any)
	flushing sync.Mutex // held while a flush reports

	mu     sync.Mutex
	said   map[string]bool
	denied map[string][]string // by namespace, for the next flush
}

func newWarnings(tell func(string, ...any)) *warnings {
	if tell == nil {
		tell = func(string, ...any) {}
	}
	return &warnings{tell: tell, said: map[string]bool{}, denied: map[string][]string{}}
}

// once warns at most once of each thing.
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

// again allows one more warning of a thing.
func (w *warnings) again(thing string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.said, thing)
}

// forbidden records a forbidden resource. A user with rights in one namespace lacks many others, so
// the next flush names them together.
func (w *warnings) forbidden(gr schema.GroupResource, namespace string) {
	if !w.first("forbidden " + gr.String() + " " + namespace) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.denied[namespace] = append(w.denied[namespace], gr.String())
}

// flush reports the resources from forbidden. After its return, none from before the call is pending.
func (w *warnings) flush() {
	w.flushing.Lock()
	defer w.flushing.Unlock()
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
		w.tell("not permitted to watch %s: %s; continuing without them", where, strings.Join(names, ", "))
	}
}
