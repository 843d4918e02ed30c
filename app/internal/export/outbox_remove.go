// SPDX-License-Identifier: Apache-2.0

package export

import (
	"context"
	"fmt"
	"time"
)

const (
	// maxRemove limits the entries that one commit removes.
	maxRemove = 1000
	// linger is how long delivered entries wait for others, or for a batch to carry their removal.
	linger = time.Second
)

// removals are the entries to remove from the store, by name. The zero value is empty.
type removals struct {
	linger time.Duration
	names  map[string]struct{}
	// since is the time of the first of them, or of the last commit. After a failed commit it is
	// later by linger.
	since time.Time
}

func (r *removals) add(name string) {
	if len(r.names) == 0 {
		r.names, r.since = map[string]struct{}{}, time.Now()
	}
	r.names[name] = struct{}{}
}

func (r *removals) drop(name string) { delete(r.names, name) }

// state returns the state that removes up to most of them.
func (r *removals) state(most int) map[string][]byte {
	out := make(map[string][]byte, min(most, len(r.names)))
	for name := range r.names {
		if len(out) == most {
			break
		}
		out[name] = nil
	}
	return out
}

// due returns how long they may still wait. It returns false if there are none.
func (r *removals) due() (time.Duration, bool) {
	if len(r.names) == 0 {
		return 0, false
	}
	if len(r.names) >= maxRemove {
		return max(0, time.Until(r.since)), true // after a failure, since is in the future
	}
	return max(0, time.Until(r.since.Add(r.linger))), true
}

// commit removes up to maxRemove of them from the store. It returns the number of remaining ones.
func (b *Outbox) commit(ctx context.Context) (left int, err error) {
	select {
	case b.committing <- struct{}{}:
		defer func() { <-b.committing }()
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	b.mu.Lock()
	state := b.removed.state(maxRemove)
	b.mu.Unlock()
	if len(state) == 0 {
		return 0, nil
	}
	if err == nil {
		err = b.opts.Commit(ctx, state)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		b.removed.since = time.Now().Add(b.removed.linger)
		return len(b.removed.names), fmt.Errorf("cannot remove delivered spans from the outbox; they stay for "+
			"another attempt: %w", err)
	}
	for name := range state {
		b.removed.drop(name)
	}
	b.removed.since = time.Now()
	return len(b.removed.names), nil
}

// tidy removes all of them.
func (b *Outbox) tidy(ctx context.Context) error {
	for {
		if left, err := b.commit(ctx); err != nil || left == 0 {
			return err
		}
	}
}
