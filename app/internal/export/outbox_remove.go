// SPDX-License-Identifier: Apache-2.0

package export

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
)

const (
	// maxRemove limits the entries that one call of Done marks.
	maxRemove = 1000
	// linger is how long delivered entries wait for others.
	linger = time.Second
)

// removals are the entries to mark as done, by number. The zero value is empty.
type removals struct {
	linger time.Duration
	seqs   []uint64
	// since is the time of the first of them, or of the last removal. After a failed removal it is
	// later by linger.
	since time.Time
}

func (r *removals) add(seq uint64) {
	if len(r.seqs) == 0 {
		r.since = time.Now()
	}
	r.seqs = append(r.seqs, seq)
}

// due returns how long they may still wait. It returns false if there are none.
func (r *removals) due() (time.Duration, bool) {
	if len(r.seqs) == 0 {
		return 0, false
	}
	if len(r.seqs) >= maxRemove {
		return max(0, time.Until(r.since)), true // after a failure, since is in the future
	}
	return max(0, time.Until(r.since.Add(r.linger))), true
}

// remove marks up to maxRemove of them as done. It returns the number of remaining ones.
func (b *Outbox) remove(ctx context.Context) (left int, err error) {
	select {
	case b.removing <- struct{}{}:
		defer func() { <-b.removing }()
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	b.mu.Lock()
	some := slices.Clone(b.removed.seqs[:min(maxRemove, len(b.removed.seqs))])
	b.mu.Unlock()
	if len(some) == 0 {
		return 0, nil
	}
	if err == nil {
		err = b.opts.Log.Done(ctx, journal.Sender, some...)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		b.removed.since = time.Now().Add(b.removed.linger)
		return len(b.removed.seqs), fmt.Errorf("cannot remove delivered spans from the outbox; they stay for "+
			"another attempt: %w", err)
	}
	if b.removed.seqs = b.removed.seqs[len(some):]; len(b.removed.seqs) == 0 {
		b.removed.seqs = nil
	}
	b.removed.since = time.Now()
	return len(b.removed.seqs), nil
}

// tidy removes all of them.
func (b *Outbox) tidy(ctx context.Context) error {
	for {
		if left, err := b.remove(ctx); err != nil || left == 0 {
			return err
		}
	}
}
