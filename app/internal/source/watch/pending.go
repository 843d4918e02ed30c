// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"fmt"
	"sync"
)

// pending counts the lists and discoveries that Synced waits for. It is safe for concurrent use.
type pending struct {
	warnings *warnings
	mu       sync.Mutex
	left     int
	// none is closed when left falls to 0.
	none chan struct{}
}

func newPending(w *warnings) *pending {
	p := &pending{warnings: w, none: make(chan struct{})}
	close(p.none)
	return p
}

func (p *pending) add() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left == 0 {
		p.none = make(chan struct{})
	}
	p.left++
}

// together makes Synced and the warnings wait until the returned function is called: the first of
// several streams may be listed before the last one starts.
func (p *pending) together() (started func()) {
	p.add()
	return p.remove
}

func (p *pending) remove() {
	p.mu.Lock()
	p.left--
	if p.left == 0 {
		close(p.none)
	}
	p.mu.Unlock()
	p.settled()
}

// settled warns of forbidden resources when no list or discovery is pending.
func (p *pending) settled() {
	p.mu.Lock()
	left := p.left
	p.mu.Unlock()
	if left == 0 {
		p.warnings.flush()
	}
}

// idle reports whether nothing is pending.
func (p *pending) idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left == 0
}

// wait waits until nothing is pending.
func (p *pending) wait(ctx context.Context) error {
	for {
		p.mu.Lock()
		none, left := p.none, p.left
		p.mu.Unlock()
		if left == 0 {
			p.warnings.flush() // the last list's goroutine may not have come to it
			return nil
		}
		select {
		case <-none:
		case <-ctx.Done():
			return fmt.Errorf("cannot list %d resources in time: %w", left, context.Cause(ctx))
		}
	}
}
