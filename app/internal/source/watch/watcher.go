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

	"github.com/kube-lifeline/lifeline/app/internal/normalize"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/relation"
)

// maxLists bounds the number of concurrent lists, and so the memory for their pages.
const maxLists = 16

// Config holds the connection and the callbacks of a Watcher.
type Config struct {
	// REST is the connection. Its client-side rate limit is not used: the API server has its own.
	REST *rest.Config
	// Exclude names resources that are never watched, in addition to DefaultExclude. An empty
	// Resource means the whole group.
	Exclude []schema.GroupResource
	// Relations are the relations of the configuration. Their kinds are watched although
	// DefaultExclude names them, unless Exclude does, too. Nil means none.
	Relations *relation.Set
	// Shown are the fields whose values may be shown, as in normalize.Settings.
	Shown map[schema.GroupKind][]string
	// Labels and KeepMessages are as in normalize.Settings.
	Labels       []string
	KeepMessages bool
	// Now is the observer's clock; nil means time.Now.
	Now func() time.Time
	// Key is that of the digests in observations. They can only be compared with those of the same
	// key. The zero value stands for a random key.
	Key [normalize.KeySize]byte
	// Emit receives every observation, one call at a time. It may call the Watcher's methods except
	// Synced and Close.
	Emit func(*observation.Observation)
	// Resume holds the positions of an earlier Watcher of the same cluster. A stream with a
	// Position continues from it: nothing is lost, and nothing is Baseline. A stream without one
	// starts with the present as Baseline.
	Resume []Position
	// Known yields the stored objects of the receiver, with their newest resourceVersion.
	// Watch reads it once. It matters when the API server has discarded a stream's Position. With
	// Known, the stream then emits only the differences; without, all existing objects. Nil means
	// none.
	Known iter.Seq2[object.Ref, uint64]
	// Reached receives the position of a stream after Emit has received everything up to it. The
	// calls are in order with Emit and never concurrent with it. A Position without a Version means
	// that the stream's resource is gone. Nil ignores positions. It must be quick, because every
	// change calls it.
	Reached func(Position)
	// Reload returns a new connection after the server has rejected the credentials (401) or its
	// own certificate was not accepted. Nil rereads the files of REST. Calls are serialized and at
	// least a few seconds apart. A connection to another address is refused.
	Reload func() (*rest.Config, error)
	// Probes sends a small request when the watches have been silent for some seconds. So
	// Stats.Heard stays recent while the API server responds.
	Probes bool
	// Batches lets the changes of a watch in protobuf wait, undecoded, until Flush is called. Their Seen is
	// the time of their arrival. A full batch (64 changes or 1 MiB), a stream that is behind, an error and
	// the end of a watch wait for no call.
	Batches bool
	// Warn receives one warning for each thing that cannot be observed; nil ignores it. Several
	// goroutines may call it concurrently.
	Warn func(format string, args ...any)
}

// pace holds the time limits. Only tests use other values than usualPace.
type pace struct {
	// late is the longest time without a sign of life after which the changes of the next watch
	// still count as live.
	late time.Duration
	// quiet is the time without changes after which all late changes count as received.
	quiet time.Duration
	// slow bounds the wait for a response. It is longer than the server's own limit.
	slow time.Duration
	// renew is the minimum interval between two reads of the credentials.
	renew time.Duration
	// probe is the time without a sign of life before a probe, and answer bounds the wait for its
	// response. Their sum is well below the ten seconds after which a silent server counts as down.
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
	related *relation.Set
	// normalizer converts the objects.
	normalizer *normalize.Normalizer
	// lists bounds the concurrent lists.
	lists  chan struct{}
	pace   pace
	outage outage
	heard  heard
	probes bool
	// batched is Config.Batches.
	batched bool
	batches batches
	past    *memory

	link     atomic.Pointer[link]
	requests atomic.Uint64
	// impossible counts the replaced times.
	impossible atomic.Uint64
	rest       *rest.Config
	reload     func() (*rest.Config, error)
	// renewing guards renewed, the time of the last attempt to renew the credentials.
	renewing sync.Mutex
	renewed  time.Time

	emitting sync.Mutex
	emit     func(*observation.Observation)
	tell     func(Position)

	running sync.WaitGroup
	// closing ends with Close, and all goroutines end with it.
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
	// namedNodes counts the Nodes watched by name.
	namedNodes int

	known    catalogue
	kinds    newKinds
	storages storages
}

// New returns a Watcher without any streams. It does not connect.
func New(cfg Config) (*Watcher, error) {
	if cfg.REST == nil || cfg.Emit == nil {
		return nil, errors.New("cannot watch: Config needs REST and Emit")
	}
	w := &Watcher{
		now:      cfg.Now,
		exclude:  newExcluded(cfg.Exclude),
		related:  cfg.Relations,
		lists:    make(chan struct{}, maxLists),
		pace:     usualPace,
		probes:   cfg.Probes,
		batched:  cfg.Batches,
		batches:  batches{of: map[*stream]struct{}{}},
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
	w.storages.resume(cfg.Resume)
	link, err := dial(w.rest, &w.requests)
	if err != nil {
		return nil, err
	}
	w.link.Store(link)
	close(w.synced)
	w.closing, w.close = context.WithCancel(context.Background())
	if cfg.Key == [normalize.KeySize]byte{} {
		cfg.Key = normalize.NewKey()
	}
	w.normalizer = normalize.New(cfg.Key, normalize.Settings{
		Relations: cfg.Relations, Shown: cfg.Shown, Labels: cfg.Labels, KeepMessages: cfg.KeepMessages,
	})
	if w.now == nil {
		w.now = time.Now
	}
	return w, nil
}

// Close ends all watching and waits for its end. Nothing is emitted afterwards. A second call is
// allowed.
func (w *Watcher) Close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.close()
	w.running.Wait()
	w.link.Load().hangUp()
}

// Synced waits until each watched resource has been listed once, or was found to be unreadable.
// Resources added later make a later call wait again.
func (w *Watcher) Synced(ctx context.Context) error {
	for {
		w.mu.Lock()
		done, left := w.synced, w.unsynced
		w.mu.Unlock()
		if left == 0 {
			w.warnings.flush() // the last list's goroutine may not have come to it
			return nil
		}
		select {
		case <-done:
		case <-ctx.Done():
			return fmt.Errorf("cannot list %d resources in time: %w", left, context.Cause(ctx))
		}
	}
}

// start watches a target unless a stream already covers it from plan.since or earlier. ctx bounds
// the watch, not the call.
func (w *Watcher) start(ctx context.Context, p plan) {
	gr := p.resource.GroupResource()
	if w.exclude.has(gr, w.related.Has(schema.GroupKind{Group: gr.Group, Kind: w.known.kind(gr)})) {
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
	s := &stream{
		plan: p, named: p.resource, w: w, behind: p.old, objects: map[uidKey]held{}, flushes: make(chan *flush, 1),
	}
	s.state.begin(w.now())
	return s
}

// launch runs f in a goroutine. Its context ends with ctx and with Close. The caller holds w.mu.
func (w *Watcher) launch(ctx context.Context, f func(context.Context)) {
	ctx, cancel := context.WithCancel(ctx)
	unhook := context.AfterFunc(w.closing, cancel)
	w.running.Go(func() {
		defer unhook()
		defer cancel()
		f(ctx)
	})
}

// forget removes a stream that has ended.
func (w *Watcher) forget(k key, s *stream) {
	s.cancel()
	s.ready.Do(w.oneSynced)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.streams[k] == s {
		delete(w.streams, k)
	}
}

// oneMore makes Synced wait for one more list. The caller holds w.mu.
func (w *Watcher) oneMore() {
	if w.unsynced == 0 {
		w.synced = make(chan struct{})
	}
	w.unsynced++
}

// together makes Synced and the warnings wait until the returned function is called: the first of
// several streams may be listed before the last one starts.
func (w *Watcher) together() (started func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.oneMore()
	return w.oneSynced
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

// settled warns of forbidden resources when no list or discovery is pending.
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
