// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"sync"
	"time"
)

// linger is the time for which a namespace of another owner is still observed. Kubernetes Events
// come some seconds late, and only the server with the stored trace can add them to it.
const linger = time.Minute

// leaving holds the namespaces that a shard will stop observing, and their times. The zero value
// is empty. It is safe for concurrent use.
type leaving struct {
	mu    sync.Mutex
	since map[string]time.Time
}

// has reports whether a namespace is in it.
func (l *leaving) has(namespace string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.since[namespace]
	return ok
}

// note updates a namespace at the time now. A namespace enters when it was observed and is not
// needed any more.
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

// left removes and returns the namespaces whose time is over.
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
