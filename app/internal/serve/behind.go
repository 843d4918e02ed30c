// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"sync/atomic"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
)

// catchUp bounds the time for which missing watches delay finished traces. A watch that never
// returns must not block the others.
const catchUp = 30 * time.Second

// behind detects late watches after a start or an outage. A change is then observed only in parts,
// such as a Pod's without its ReplicaSet's, and silence means nothing. So no trace counts as
// finished meanwhile. It is for one goroutine, except for synced.
type behind struct {
	// synced is true after the first complete lists.
	synced atomic.Bool
	// since is the time since when some watches were connected and others missing; zero if all are
	// missing, or if none is.
	since time.Time
	was   bool
}

// check reports whether watches are behind by their statistics, or their observations still wait
// for the loop.
func (b *behind) check(stats watch.Stats, waiting int, now time.Time) bool {
	away := stats.Lag > 0 || !b.synced.Load()
	if !away && (!b.was || waiting == 0) {
		b.was, b.since = false, time.Time{}
		return false
	}
	b.was = true
	switch {
	case !connected(stats):
		b.since = time.Time{} // at first, some watches of an outage are still connected
	case b.since.IsZero():
		b.since = now
	}
	return b.since.IsZero() || now.Sub(b.since) < catchUp
}
