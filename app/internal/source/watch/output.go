// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"sync"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// output calls Config.Emit and Config.Reached, one call at a time.
type output struct {
	mu      sync.Mutex
	emit    func(*observation.Observation)
	reached func(Position) // nil ignores positions
}

func (o *output) hand(out *observation.Observation) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.emit(out)
}

// reach reports a position after all its observations.
func (o *output) reach(p Position) {
	if o.reached == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reached(p)
}

// gone reports the removal of a position's resource, unless the resource is back already.
func (o *output) gone(p Position, back func(Position) bool) {
	if o.reached == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if p.Version = ""; !back(p) {
		o.reached(p)
	}
}
