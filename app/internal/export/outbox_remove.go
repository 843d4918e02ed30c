// SPDX-License-Identifier: Apache-2.0

package export

import (
	"context"
	"fmt"
	"time"
)

const (
	// maxRemove is how many entries one commit removes.
	maxRemove = 1000
	// linger is for how long entries that were delivered wait for others to be
	// removed with, or for a batch to ride on.
	linger = time.Second
)

// removals are entries that are to be removed from the store, by name. Its zero
// value is none.
type removals struct {
	linger time.Duration
	names  map[string]struct{}
	// since is when the first of them came, or a commit failed.
	since time.Time
}

func (r *removals) add(name string) {
	if len(r.names) == 0 {
		r.names, r.since = map[string]struct{}{}, time.Now()
	}
	r.names[name] = struct{}{}
}

func (r *removals) drop(name string) { delete(r.names, name) }

// state removes up to so many of them.
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

// due is how long they may wait yet; false if there are none.
func (r *removals) due() (time.Duration, bool) {
	if len(r.names) == 0 {
		return 0, false
	}
	if len(r.names) >= maxRemove {
		return max(0, time.Until(r.since)), true // since is ahead of us after a failure
	}
	return max(0, time.Until(r.since.Add(r.linger))), true
}

// commit removes some of what is to be removed from the store. It tells how
// many are left.
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

// tidy removes all that is to be removed.
func (b *Outbox) tidy(ctx context.Context) error {
	for {
		if left, err := b.commit(ctx); err != nil || left == 0 {
			return err
		}
	}
}
