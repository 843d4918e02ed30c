// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// maxLists bounds how many lists are read at once, and with it the memory that
// pages of objects take.
const maxLists = 16

// Config says what a Watcher connects to and where it hands what it sees.
type Config struct {
	// REST is the connection. Its client-side rate limit is not used: the API
	// server has its own.
	REST *rest.Config
	// Exclude names resources that are never watched, beside DefaultExclude.
	// An empty Resource stands for the whole group.
	Exclude []schema.GroupResource
	// Now is the observer's clock; time.Now if nil.
	Now func() time.Time
	// Emit receives every observation, one call at a time. It may call the
	// Watcher's methods, but for Synced and Close.
	Emit func(*observation.Observation)
	// Warn is told once of each thing that cannot be seen; nil ignores it.
	// It may be called from several goroutines at once.
	Warn func(format string, args ...any)
}

// Watcher observes a cluster. Its methods are safe for concurrent use.
type Watcher struct {
	now     func() time.Time
	exclude excluded
	link    *link
	lists   chan struct{}

	emitting sync.Mutex
	emit     func(*observation.Observation)

	running sync.WaitGroup
	// closing is done when Close is called; all that runs ends with it.
	closing context.Context
	close   context.CancelFunc

	mu       sync.Mutex
	closed   bool
	streams  map[key]*stream
	warnings warnings
	unsynced int
	synced   chan struct{} // closed when unsynced falls to 0
	// namedNodes counts the Nodes that are watched by name.
	namedNodes int

	known catalogue
	kinds newKinds
}

// New returns a Watcher that watches nothing yet. It does not connect.
func New(cfg Config) (*Watcher, error) {
	if cfg.REST == nil || cfg.Emit == nil {
		return nil, errors.New("cannot watch: a connection and a receiver are needed")
	}
	link, err := dial(cfg.REST)
	if err != nil {
		return nil, err
	}
	w := &Watcher{
		now:      cfg.Now,
		exclude:  newExcluded(cfg.Exclude),
		link:     link,
		lists:    make(chan struct{}, maxLists),
		emit:     cfg.Emit,
		streams:  map[key]*stream{},
		warnings: makeWarnings(cfg.Warn),
		synced:   make(chan struct{}),
		kinds:    makeNewKinds(),
	}
	close(w.synced)
	w.closing, w.close = context.WithCancel(context.Background())
	if w.now == nil {
		w.now = time.Now
	}
	return w, nil
}

// Close ends all watching and waits until it has ended; nothing is emitted
// afterwards. It may be called more than once.
func (w *Watcher) Close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.close()
	w.running.Wait()
	w.link.hangUp()
}

// Synced waits until everything that is being watched has been listed once, or
// was found not to be readable. What is watched later makes it wait again.
func (w *Watcher) Synced(ctx context.Context) error {
	for {
		w.mu.Lock()
		done, left := w.synced, w.unsynced
		w.mu.Unlock()
		if left == 0 {
			return nil
		}
		select {
		case <-done:
		case <-ctx.Done():
			return fmt.Errorf("cannot list %d resources in time: %w", left, context.Cause(ctx))
		}
	}
}

// start begins to watch a target, unless it is being watched already from
// where since asks, or earlier. ctx bounds the watch, not the call.
func (w *Watcher) start(ctx context.Context, p plan) {
	if w.exclude.has(p.resource.GroupResource()) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	k := p.key()
	for _, wider := range []key{k, k.anyName(), k.anyNamespace()} {
		if old := w.streams[wider]; old != nil && old.covers(p.since) {
			return
		}
	}
	if old := w.streams[k]; old != nil {
		old.cancel()
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &stream{plan: p, w: w, cancel: cancel, over: ctx.Err, objects: map[uidKey]held{}}
	w.streams[k] = s
	w.oneMore()
	w.launch(ctx, func(ctx context.Context) {
		defer w.forget(k, s)
		s.run(ctx)
	})
}

// launch runs f until its end, which ctx and Close ask for; w.mu must be held.
func (w *Watcher) launch(ctx context.Context, f func(context.Context)) {
	ctx, cancel := context.WithCancel(ctx)
	unhook := context.AfterFunc(w.closing, cancel)
	w.running.Go(func() {
		defer unhook()
		defer cancel()
		f(ctx)
	})
}

// forget drops a stream that has ended.
func (w *Watcher) forget(k key, s *stream) {
	s.cancel()
	s.ready.Do(w.oneSynced)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.streams[k] == s {
		delete(w.streams, k)
	}
}

// oneMore makes Synced wait for one more; w.mu must be held.
func (w *Watcher) oneMore() {
	if w.unsynced == 0 {
		w.synced = make(chan struct{})
	}
	w.unsynced++
}

func (w *Watcher) oneSynced() {
	w.mu.Lock()
	w.unsynced--
	if w.unsynced == 0 {
		close(w.synced)
	}
	w.mu.Unlock()
	w.settled()
}

// settled says what is not permitted, once nothing more is being found out.
func (w *Watcher) settled() {
	w.mu.Lock()
	all := w.unsynced == 0
	w.mu.Unlock()
	if all {
		w.warnings.flush()
	}
}

func (w *Watcher) hand(o *observation.Observation) {
	w.emitting.Lock()
	defer w.emitting.Unlock()
	w.emit(o)
}
