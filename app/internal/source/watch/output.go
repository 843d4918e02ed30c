// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// output calls Config.Emit and Config.Reached, one call at a time. It holds back observations whose messages may
// quote values of objects that have not arrived yet.
type output struct {
	mu      sync.Mutex
	emit    func(*observation.Observation)
	reached func(Position) // nil ignores positions
	// listed reports whether all objects are known; nil means always.
	listed func() bool
	// hold is the time until held observations are emitted; 0 leaves it to calls of release. patience bounds the
	// wait for the lists; the text is withheld then.
	hold, patience time.Duration
	// held are the observations that wait. positions are those of all streams meanwhile: after them, nothing may
	// be missing.
	held      []*observation.Observation
	positions map[string]Position
	// since is the time of the first held observation.
	since  time.Time
	closed bool
	// waiting means that there are held observations.
	waiting atomic.Bool
	// incomplete is Config.Incomplete.
	incomplete bool
}

// maxHeld bounds the held observations. Those above lose text.
const maxHeld = 10_000

func (o *output) hand(out *observation.Observation) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.incomplete {
		o.emit(out)
		return
	}
	if out.Later == nil || len(o.held) >= maxHeld {
		out.Later = nil
		o.emit(out)
		return
	}
	if len(o.held) == 0 {
		o.since = time.Now()
		if o.hold > 0 {
			time.AfterFunc(o.hold, o.release)
		}
	}
	o.held = append(o.held, out)
	o.waiting.Store(true)
}

// release completes and emits the held observations, and then the positions, once all objects have been listed. If a
// list takes too long, it emits them as they are.
func (o *output) release() {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.closed || len(o.held) == 0:
	case o.listed == nil || o.listed():
		o.releaseAll(true)
	case time.Since(o.since) >= o.patience:
		o.releaseAll(false)
	case o.hold > 0:
		time.AfterFunc(o.hold, o.release)
	}
}

// releaseAll emits the held observations, completed or as they are.
func (o *output) releaseAll(complete bool) {
	for _, out := range o.held {
		if complete {
			out.Later()
		}
		out.Later = nil
		o.emit(out)
	}
	o.held = nil
	o.waiting.Store(false)
	for _, p := range o.positions {
		o.reached(p)
	}
	clear(o.positions)
}

// holds reports whether observations wait. It does not wait for Emit.
func (o *output) holds() bool { return o.waiting.Load() }

// close emits what waits. Nothing is emitted afterwards.
func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.releaseAll(o.listed == nil || o.listed())
	}
	o.closed = true
}

// reach reports a position after all its observations.
func (o *output) reach(p Position) {
	if o.reached == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.held) > 0 {
		o.position(p)
		return
	}
	o.reached(p)
}

// position keeps the newest position of a stream.
func (o *output) position(p Position) {
	if o.positions == nil {
		o.positions = map[string]Position{}
	}
	o.positions[p.Key()] = p
}

// gone reports the removal of a position's resource, unless the resource is back already.
func (o *output) gone(p Position, back func(Position) bool) {
	if o.reached == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if p.Version = ""; back(p) {
		return
	}
	if len(o.held) > 0 {
		o.position(p)
		return
	}
	o.reached(p)
}
