// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"sync/atomic"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
)

// catchUp is for how long traces are not handed out because some of the watches
// are not back yet: one that never comes back must not hold up all the rest.
const catchUp = 30 * time.Second

// behind tells whether watches are behind, after a start or an outage. The story
// of a change is then seen by halves, a Pod's without its ReplicaSet's, and what
// looks quiet is not: so nothing counts as finished meanwhile. It is for one
// goroutine, synced apart.
type behind struct {
	// synced is set when all had been read once.
	synced atomic.Bool
	// since is from when on some of the watches were there and others were not;
	// zero if all are away, or none has been.
	since time.Time
	was   bool
	// waits is what check has told last.
	waits bool
}

// check reports whether watches are behind, as the statistics say, or whether
// what they brought still waits to be taken in.
func (b *behind) check(stats watch.Stats, waiting int, now time.Time) bool {
	away := stats.Lag > 0 || !b.synced.Load()
	if !away && (!b.was || waiting == 0) {
		b.was, b.waits, b.since = false, false, time.Time{}
		return false
	}
	b.was = true
	switch {
	case !connected(stats):
		b.since = time.Time{} // an outage begins with some that are still there
	case b.since.IsZero():
		b.since = now
	}
	b.waits = b.since.IsZero() || now.Sub(b.since) < catchUp
	return b.waits
}

// connected reports whether any watch shows the present.
func connected(stats watch.Stats) bool {
	for _, r := range stats.Resources {
		if r.Connected > 0 {
			return true
		}
	}
	return false
}
