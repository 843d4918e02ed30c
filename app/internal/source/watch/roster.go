// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// roster holds the running streams, and ends all goroutines of a Watcher. It is safe for concurrent use.
type roster struct {
	shared *shared
	past   *memory

	running sync.WaitGroup
	// closing ends with close, and all goroutines end with it.
	closing context.Context
	cancel  context.CancelFunc

	mu       sync.Mutex
	closed   bool
	streams  map[key]*stream
	counters map[schema.GroupResource]*counters
}

func newRoster(of *shared, past *memory) *roster {
	r := &roster{
		shared: of, past: past, streams: map[key]*stream{}, counters: map[schema.GroupResource]*counters{},
	}
	r.closing, r.cancel = context.WithCancel(context.Background())
	return r
}

// close ends all goroutines and waits for their end.
func (r *roster) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.cancel()
	r.running.Wait()
}

// start watches a target unless a stream already covers it from plan.since or earlier. ctx bounds
// the watch, not the call.
func (r *roster) start(ctx context.Context, p plan) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	k := p.key()
	for _, wider := range []key{k, k.anyName(), k.anyNamespace()} {
		if old := r.streams[wider]; old != nil && old.covers(p.since) {
			return
		}
	}
	if old := r.streams[k]; old != nil {
		old.cancel()
	}
	ctx, cancel := context.WithCancel(ctx)
	s := newStream(p, r.shared, r.countersOf(k.GroupResource))
	s.cancel, s.over = cancel, ctx.Err
	s.resume(r.past.take(k, r.shared.known.kind(k.GroupResource)))
	r.streams[k] = s
	if s.learns() {
		read := s.read
		r.shared.learning.Add(1)
		r.launch(ctx, func(ctx context.Context) {
			defer r.shared.learning.Add(-1)
			s.learn(ctx, read)
		})
	}
	r.shared.pending.add()
	r.launch(ctx, func(ctx context.Context) {
		defer r.forget(k, s)
		s.run(ctx)
		if s.vanish() {
			r.gone(Position{Resource: p.resource, Namespace: p.namespace, Name: p.name})
		}
	})
}

// run runs f, unless the Watcher is closed. The context of f ends with f, with ctx and with close.
func (r *roster) run(ctx context.Context, f func(context.Context)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.launch(ctx, f)
	}
}

// background is run, and Synced waits for f.
func (r *roster) background(ctx context.Context, f func(context.Context)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	r.shared.pending.add()
	r.launch(ctx, func(ctx context.Context) {
		defer r.shared.pending.remove()
		f(ctx)
	})
}

// launch runs f in a goroutine. The caller holds r.mu.
func (r *roster) launch(ctx context.Context, f func(context.Context)) {
	ctx, cancel := context.WithCancel(ctx)
	unhook := context.AfterFunc(r.closing, cancel)
	r.running.Go(func() {
		defer unhook()
		defer cancel()
		f(ctx)
	})
}

// forget removes a stream that has ended.
func (r *roster) forget(k key, s *stream) {
	s.cancel()
	s.ready()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.streams[k] == s {
		delete(r.streams, k)
	}
}

// drop ends the streams of a removed resource. Without its definition, all its objects are gone.
func (r *roster) drop(kind droppedKind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, s := range r.streams {
		if k.GroupResource == kind.GroupResource {
			s.vanished.Store(kind.version)
			s.cancel()
			delete(r.streams, k)
		}
	}
}

// gone reports the removal of a position's resource, unless a new stream watches it.
func (r *roster) gone(p Position) {
	r.shared.out.gone(p, func(p Position) bool { return r.has(p.key()) })
}

// has reports whether a stream is running.
func (r *roster) has(k key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.streams[k] != nil
}

// countersOf returns the counters of a resource. The caller holds r.mu.
func (r *roster) countersOf(gr schema.GroupResource) *counters {
	c := r.counters[gr]
	if c == nil {
		c = new(counters)
		r.counters[gr] = c
	}
	return c
}
