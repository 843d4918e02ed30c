// SPDX-License-Identifier: Apache-2.0

package api

import (
	"slices"
	"sync"

	"go.opentelemetry.io/otel/trace"
)

// lately holds one value a trace: the last used ones, whose weights are at most max together. A heavier
// value is not held, and empties it.
type lately[V any] struct {
	max int

	mu sync.Mutex
	// used has the values, the last used one last.
	used []held[V]
}

type held[V any] struct {
	of     trace.TraceID
	value  V
	weight int
}

// get returns the value of a trace, and whether there is one.
func (l *lately[V]) get(of trace.TraceID) (V, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.used, func(h held[V]) bool { return h.of == of })
	if i < 0 {
		var none V
		return none, false
	}
	found := l.used[i]
	l.used = append(slices.Delete(l.used, i, i+1), found)
	return found.value, true
}

// put holds a value in place of the former one of the trace.
func (l *lately[V]) put(of trace.TraceID, value V, weight int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used = slices.DeleteFunc(l.used, func(h held[V]) bool { return h.of == of })
	l.used = append(l.used, held[V]{of, value, weight})
	sum := 0
	for i, h := range slices.Backward(l.used) {
		if sum += h.weight; sum > l.max {
			l.used = slices.Delete(l.used, 0, i+1)
			break
		}
	}
}
