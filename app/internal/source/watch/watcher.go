// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/connrotation"

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
	now      func() time.Time
	warn     func(format string, args ...any)
	exclude  excluded
	rest     *rest.Config
	http     *http.Client
	dialer   *connrotation.Dialer
	dynamic  dynamic.Interface
	metadata metadata.Interface
	lists    chan struct{}

	emitting sync.Mutex
	emit     func(*observation.Observation)

	running sync.WaitGroup
	// closing is done when Close is called; all that runs ends with it.
	closing context.Context
	close   context.CancelFunc

	mu       sync.Mutex
	closed   bool
	streams  map[key]*stream
	warned   map[string]bool
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
	conf := rest.CopyConfig(cfg.REST)
	conf.QPS = -1
	conf.RateLimiter = nil
	conf.WarningHandler = rest.NoWarnings{}
	conf.Timeout = 0 // it would end every watch
	if conf.Dial == nil {
		conf.Dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	dialer := connrotation.NewDialer(conf.Dial)
	conf.Dial = dialer.DialContext
	client, err := rest.HTTPClientFor(conf)
	if err != nil {
		return nil, fmt.Errorf("cannot connect to %s: %w", conf.Host, err)
	}
	dyn, err := dynamic.NewForConfigAndClient(conf, client)
	if err != nil {
		return nil, fmt.Errorf("cannot connect to %s: %w", conf.Host, err)
	}
	meta, err := metadata.NewForConfigAndClient(conf, client)
	if err != nil {
		return nil, fmt.Errorf("cannot connect to %s: %w", conf.Host, err)
	}
	w := &Watcher{
		now:      cfg.Now,
		warn:     cfg.Warn,
		exclude:  newExcluded(cfg.Exclude),
		rest:     conf,
		http:     client,
		dialer:   dialer,
		dynamic:  dyn,
		metadata: meta,
		lists:    make(chan struct{}, maxLists),
		emit:     cfg.Emit,
		streams:  map[key]*stream{},
		warned:   map[string]bool{},
		synced:   make(chan struct{}),
		kinds:    makeNewKinds(),
	}
	close(w.synced)
	w.closing, w.close = context.WithCancel(context.Background())
	if w.now == nil {
		w.now = time.Now
	}
	if w.warn == nil {
		w.warn = func(string, ...any) {}
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
	w.dialer.CloseAll()
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
	s := &stream{plan: p, w: w, cancel: cancel, objects: map[uidKey]held{}}
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
	defer w.mu.Unlock()
	w.unsynced--
	if w.unsynced == 0 {
		close(w.synced)
	}
}

func (w *Watcher) hand(o *observation.Observation) {
	w.emitting.Lock()
	defer w.emitting.Unlock()
	w.emit(o)
}

// warnOnce warns, but not of the same thing twice.
func (w *Watcher) warnOnce(thing, format string, args ...any) {
	w.mu.Lock()
	again := w.warned[thing]
	w.warned[thing] = true
	w.mu.Unlock()
	if !again {
		w.warn(format, args...)
	}
}

// warnAgain lets warnOnce warn of that thing once more.
func (w *Watcher) warnAgain(thing string) {
	w.mu.Lock()
	delete(w.warned, thing)
	w.mu.Unlock()
}
