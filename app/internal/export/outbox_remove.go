// SPDX-License-Identifier: Apache-2.0

package export

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
)

const (
	// maxRemove limits the entries that one call of Done marks.
	maxRemove = 1000
	// linger is how long delivered entries wait for others.
	linger = time.Second
)

// removals are the delivered and dropped entries, until they are marked as done. They are safe for
// concurrent use.
type removals struct {
	log    Log
	linger time.Duration
	// calling is held during a call of Done.
	calling chan struct{}

	mu   sync.Mutex
	seqs []uint64
	// since is the time of the first of them, or of the last removal. After a failed removal it is
	// later by linger.
	since time.Time
}

func (r *removals) add(seqs ...uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.seqs) == 0 {
		r.since = time.Now()
	}
	r.seqs = append(r.seqs, seqs...)
}

// due returns how long they may still wait. It returns false if there are none.
func (r *removals) due() (time.Duration, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.seqs) == 0 {
		return 0, false
	}
	if len(r.seqs) >= maxRemove {
		return max(0, time.Until(r.since)), true // after a failure, since is in the future
	}
	return max(0, time.Until(r.since.Add(r.linger))), true
}

// remove marks up to maxRemove of them as done. It returns the number of remaining ones.
func (r *removals) remove(ctx context.Context) (left int, err error) {
	select {
	case r.calling <- struct{}{}:
		defer func() { <-r.calling }()
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	r.mu.Lock()
	some := slices.Clone(r.seqs[:min(maxRemove, len(r.seqs))])
	r.mu.Unlock()
	if len(some) == 0 {
		return 0, nil
	}
	if err == nil {
		err = r.log.Done(ctx, journal.Sender, some...)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.since = time.Now().Add(r.linger)
		return len(r.seqs), fmt.Errorf("cannot remove delivered spans from the outbox; they stay for "+
			"another attempt: %w", err)
	}
	if r.seqs = r.seqs[len(some):]; len(r.seqs) == 0 {
		r.seqs = nil
	}
	r.since = time.Now()
	return len(r.seqs), nil
}

// removeAll marks all of them as done.
func (r *removals) removeAll(ctx context.Context) error {
	for {
		if left, err := r.remove(ctx); err != nil || left == 0 {
			return err
		}
	}
}
