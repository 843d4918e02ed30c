// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"sync"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/utils/lru"
)

// try names a derived span. Writes that are alike, such as of several objects
// with one generateName, or of one that is refused and sent again, would share
// it.
type try struct {
	trace trace.TraceID
	span  trace.SpanID
}

// tries counts them.
type tries struct {
	mu   sync.Mutex
	made *lru.Cache
}

func newTries() *tries { return &tries{made: lru.New(remembered)} }

// next returns how many there were before this one.
func (t *tries) next(of try) int { return t.add(of, 1) }

// undo forgets one: its span was not made.
func (t *tries) undo(of try) { t.add(of, -1) }

// add returns the number before.
func (t *tries) add(of try, n int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := 0
	if v, ok := t.made.Get(of); ok {
		before = v.(int)
	}
	t.made.Add(of, max(0, before+n))
	return before
}
