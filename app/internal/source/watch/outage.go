// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"sync"
	"time"
)

// spread is the time over which the streams come back after an outage.
const spread = 250 * time.Millisecond

// wakeInterval is how often at most streams are woken: a server that comes and
// goes must not draw all of them each time.
const wakeInterval = time.Second

// outage lets the first stream that reaches the server again wake all others.
type outage struct {
	mu   sync.Mutex
	down bool
	back chan struct{} // closed and replaced when it is over
	woke time.Time
}

// lost notes that the server did not answer, or not in a useful way.
func (o *outage) lost() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.down = true
}

// found notes that it did.
func (o *outage) found() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.down || o.back == nil || time.Since(o.woke) < wakeInterval {
		return
	}
	o.down, o.woke = false, time.Now()
	close(o.back)
	o.back = nil
}

// over is closed when the outage is.
func (o *outage) over() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.back == nil {
		o.back = make(chan struct{})
	}
	return o.back
}

// answered notes that the server works.
func (w *Watcher) answered() {
	w.heard.now(w.now())
	w.warnings.again(unreachable)
	w.outage.found()
}
