// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"sync"
	"time"
)

// linger is for how long a namespace is still observed that is another's now:
// Kubernetes Events come late, by seconds as a rule, and only who has stored the
// trace that they add to can add them.
const linger = time.Minute

// leaving are the namespaces that a shard need not observe any more, and since
// when. The zero value has none; it is safe for concurrent use.
type leaving struct {
	mu    sync.Mutex
	since map[string]time.Time
}

// has reports whether a namespace is being left.
func (l *leaving) has(namespace string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.since[namespace]
	return ok
}

// note notes at now whether a namespace was observed, and whether it needs to be
// from now on: what was not observed is not left.
func (l *leaving) note(namespace string, was, needed bool, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if needed {
		delete(l.since, namespace)
		return
	}
	if !was {
		return
	}
	if l.since == nil {
		l.since = map[string]time.Time{}
	}
	l.since[namespace] = now
}

// left removes and returns the namespaces that have been left for long enough.
func (l *leaving) left(now time.Time) map[string]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out map[string]bool
	for namespace, since := range l.since {
		if now.Sub(since) < linger {
			continue
		}
		if out == nil {
			out = map[string]bool{}
		}
		out[namespace] = true
		delete(l.since, namespace)
	}
	return out
}
