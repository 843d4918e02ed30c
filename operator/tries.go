// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"sync"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/utils/lru"
)

// try identifies a derived span. Equal writes would share it, such as those of several objects with
// one generateName, or the retry of a refused write.
type try struct {
	trace trace.TraceID
	span  trace.SpanID
}

// tries counts the uses of derived spans.
type tries struct {
	mu   sync.Mutex
	made *lru.Cache
}

func newTries() *tries { return &tries{made: lru.New(remembered)} }

// next returns the number of earlier uses, and adds one.
func (t *tries) next(of try) int { return t.add(of, 1) }

// undo removes one use: its span was not made.
func (t *tries) undo(of try) { t.add(of, -1) }

// add adds n and returns the number before.
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
