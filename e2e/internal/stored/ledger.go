// SPDX-License-Identifier: Apache-2.0

// Package stored follows an API server's audit log, and returns the stored writes
// of each object in a namespace.
package stored

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/kube-lifeline/lifeline/lab/audit"
)

// Ledger holds what was stored so far.
type Ledger struct {
	stop func()
	done chan struct{}

	mu  sync.Mutex
	in  map[string][]audit.Write // by namespace
	err error
}

// Follow reads the log at path until Close.
func Follow(path string) *Ledger {
	ctx, stop := context.WithCancel(context.Background())
	l := &Ledger{stop: stop, done: make(chan struct{}), in: map[string][]audit.Write{}}
	go func() {
		defer close(l.done)
		for w, err := range audit.Follow(ctx, path) {
			l.mu.Lock()
			if err != nil {
				l.err = err
			} else {
				l.in[w.Namespace] = append(l.in[w.Namespace], w)
			}
			l.mu.Unlock()
		}
	}()
	return l
}

// Close ends the reading, and says what ended it before.
func (l *Ledger) Close() error {
	l.stop()
	<-l.done
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Writes returns what was stored in a namespace so far, in the order of answers.
func (l *Ledger) Writes(namespace string) ([]audit.Write, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.in[namespace]), l.err
}

// Quiet reports whether nothing was stored in a namespace for so long.
func (l *Ledger) Quiet(namespace string, since time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.in[namespace]
	return len(all) == 0 || time.Since(all[len(all)-1].Completed) > since
}
