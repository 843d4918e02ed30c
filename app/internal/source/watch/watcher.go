// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/object"
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
	// Resume is where an earlier Watcher of the same cluster had come. A stream
	// that has a Position there goes on from it: nothing is lost, and nothing is
	// Baseline. Without one, a stream begins with the present as Baseline.
	Resume []Position
	// Known are the objects that are stored as far as the receiver knows, with
	// their newest resourceVersion, read once, by Watch. With them, a stream
	// that cannot go on from its Position because the API server has forgotten
	// it hands on what differs; without, all that is there. Nil is none.
	Known iter.Seq2[object.Ref, uint64]
	// Reached is told, in order with Emit and never at the same time, how far a
	// stream has come, after all up to there was emitted; a Position without a
	// Version ends what was told of a stream whose resource is gone. Nil ignores
	// it. It is called for every change, so it must be quick.
	Reached func(Position)
	// Wanted says of which namespaces objects are of interest; nil is all. The
	// others' are dropped. It is called from several goroutines, often. Call
	// Include and Left when what it says changes.
	Wanted func(namespace string) bool
	// Reload returns the connection anew when the server does not accept the
	// credentials any more (401), or its certificate is not accepted; nil takes
	// REST again, whose files may have changed. It is not asked more often than
	// every few seconds, one call at a time. A connection to another address is
	// refused.
	Reload func() (*rest.Config, error)
	// Probes sends a small request when no watch has brought anything for some
	// seconds, so that Stats.Heard stays recent while the API server answers.
	Probes bool
	// Warn is told once of each thing that cannot be seen; nil ignores it.
	// It may be called from several goroutines at once.
	Warn func(format string, args ...any)
}

// pace is how long things may take; only tests use another than usualPace.
type pace struct {
	// late is for how long a stream may be without a sign of life of its watch
	// and what the next watch brings still counts as seen when it happened.
	late time.Duration
	// quiet is for how long nothing comes when all that was late has come.
	quiet time.Duration
	// slow is how long a server may take to answer: longer than its own limit.
	slow time.Duration
	// renew is how often at most credentials are read anew.
	renew time.Duration
	// probe is how long the server may give no sign of life before it is probed,
	// and answer how long the answer to a probe may take. Their sum is well below
	// the ten seconds after which a silent server counts as away.
	probe, answer time.Duration
}

var usualPace = pace{
	late: 2 * time.Second, quiet: time.Second, slow: 65 * time.Second, renew: 5 * time.Second,
	probe: 3 * time.Second, answer: 5 * time.Second,
}

// Watcher observes a cluster. Its methods are safe for concurrent use.
type Watcher struct {
	now     func() time.Time
	exclude excluded
	wanted  func(namespace string) bool
	// lists and visits bound how many are made at once.
	lists, visits chan struct{}
	pace          pace
	outage        outage
	heard         heard
	probes        bool
	past          *memory

	link     atomic.Pointer[link]
	requests atomic.Uint64
	// impossible counts the times that were replaced.
	impossible atomic.Uint64
	rest       *rest.Config
	reload     func() (*rest.Config, error)
	// renewing guards renewed: when new credentials were last looked for.
	renewing sync.Mutex
	renewed  time.Time

	emitting sync.Mutex
	emit     func(*observation.Observation)
	tell     func(Position)

	running sync.WaitGroup
	// closing is done when Close is called; all that runs ends with it.
	closing context.Context
	close   context.CancelFunc

	mu       sync.Mutex
	closed   bool
	probing  bool
	streams  map[key]*stream
	warnings warnings
	unsynced int
	synced   chan struct{} // closed when unsynced falls to 0
	counters map[schema.GroupResource]*counters
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
	w := &Watcher{
		now:      cfg.Now,
		exclude:  newExcluded(cfg.Exclude),
		wanted:   cfg.Wanted,
		lists:    make(chan struct{}, maxLists),
		visits:   make(chan struct{}, maxVisits),
		pace:     usualPace,
		probes:   cfg.Probes,
		past:     remember(cfg),
		rest:     rest.CopyConfig(cfg.REST),
		reload:   cfg.Reload,
		emit:     cfg.Emit,
		tell:     cfg.Reached,
		counters: map[schema.GroupResource]*counters{},
		streams:  map[key]*stream{},
		warnings: makeWarnings(cfg.Warn),
		synced:   make(chan struct{}),
		kinds:    makeNewKinds(),
	}
	link, err := dial(w.rest, &w.requests)
	if err != nil {
		return nil, err
	}
	w.link.Store(link)
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
	w.link.Load().hangUp()
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
	s := w.newStream(p)
	s.cancel, s.over, s.count = cancel, ctx.Err, w.countersOf(k.GroupResource)
	s.resume(w.known.kind(k.GroupResource))
	w.streams[k] = s
	w.oneMore()
	w.launch(ctx, func(ctx context.Context) {
		defer w.forget(k, s)
		s.run(ctx)
	})
}

func (w *Watcher) newStream(p plan) *stream {
	s := &stream{plan: p, named: p.resource, w: w, behind: p.old, objects: map[uidKey]held{}, hurry: make(chan struct{}, 1)}
	s.state.begin(w.now())
	return s
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
