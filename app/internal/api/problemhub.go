// SPDX-License-Identifier: Apache-2.0

package api

import (
	"sync"

	problems "github.com/kube-lifeline/lifeline/app/internal/problem"
)

// ProblemHub holds the problems of the last look, for the readers of a Server. The zero value is ready. It is safe for
// concurrent use.
type ProblemHub struct {
	mu      sync.Mutex
	now     *problems.Snapshot
	changed chan struct{}
}

// Now returns the problems of the last look. Before the first one they have no time.
func (h *ProblemHub) Now() *problems.Snapshot {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.now == nil {
		return &problems.Snapshot{}
	}
	return h.now
}

// Publish replaces the problems. It never waits for a reader.
func (h *ProblemHub) Publish(s *problems.Snapshot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	same := h.now.Same(s)
	h.now = s
	if !same && h.changed != nil {
		close(h.changed)
		h.changed = nil
	}
}

// following returns a channel that is closed when the problems of Now have changed.
func (h *ProblemHub) following() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.changed == nil {
		h.changed = make(chan struct{})
	}
	return h.changed
}
