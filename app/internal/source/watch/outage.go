// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"sync"
	"time"
)

// spread is the time over which the streams reconnect after an outage.
const spread = 250 * time.Millisecond

// wakeInterval is the minimum interval between two wake-ups, so that an unstable server does not
// get the requests of all streams each time.
const wakeInterval = time.Second

// outage lets the first stream that reaches the server again wake all others.
type outage struct {
	mu   sync.Mutex
	down bool
	back chan struct{} // closed and replaced when it is over
	woke time.Time
}

// lost records that the server gave no useful response.
func (o *outage) lost() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.down = true
}

// found records that the server responded again.
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

// over returns a channel that closes at the end of the outage.
func (o *outage) over() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.back == nil {
		o.back = make(chan struct{})
	}
	return o.back
}
