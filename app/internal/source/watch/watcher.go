// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/health"
	"github.com/kube-lifeline/lifeline/app/internal/mask"
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
	// Labels, Messages and Memory are as in normalize.Settings.
	Labels   []string
	Messages mask.Modes
	Memory   *mask.Memory
	// Health are the health rules of the configuration, until SetHealth. Signals are the kinds that show
	// their state. Nil means none.
	Health  *health.Rules
	Signals *health.Signals
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
	// Watch reads it once. It matters when a stream has no Position, or the API server has discarded it.
	// With Known, the stream then emits only the differences; without, all existing objects. Nil means
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
	// Incomplete lets Emit have observations at once whose messages lack text. The receiver calls their Later when
	// it has all objects that it wants.
	Incomplete bool
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
	// hold is the wait for objects whose values a message may quote, in a Watcher without Batches. Their streams
	// are independent of each other. patience bounds the wait for lists: in a server, and otherwise, where a command
	// concludes from what it has observed.
	hold, patience, shortPatience time.Duration
}

var usualPace = pace{
	late: 2 * time.Second, quiet: time.Second, slow: 65 * time.Second, renew: 5 * time.Second,
	probe: 3 * time.Second, answer: 5 * time.Second, hold: 200 * time.Millisecond,
	patience: 10 * time.Second, shortPatience: 2 * time.Second,
}

// Watcher observes a cluster. Its methods are safe for concurrent use.
//
// Watch and Follow make plans; the explorer adds those for the effects of changes. The roster runs one
// stream for each plan. All streams share the API server and the output.
type Watcher struct {
	*shared
	roster   *roster
	explorer *explorer
	past     *memory
	kinds    *newKinds
	probes   bool
	probing  atomic.Bool
}

// shared is what the streams of a Watcher have in common.
type shared struct {
	now       func() time.Time
	pace      *pace
	warnings  *warnings
	server    *server
	known     *catalogue
	storages  *storages
	converter *converter
	out       *output
	pending   *pending
	// learning counts the lists for values.
	learning atomic.Int64
	// lists bounds the concurrent lists.
	lists chan struct{}
	// batched is Config.Batches.
	batched bool
	batches batches
}

// New returns a Watcher without any streams. It does not connect.
func New(cfg Config) (*Watcher, error) {
	if cfg.REST == nil || cfg.Emit == nil {
		return nil, errors.New("cannot watch: Config needs REST and Emit")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Key == [normalize.KeySize]byte{} {
		cfg.Key = normalize.NewKey()
	}
	limits, warnings, storages := usualPace, newWarnings(cfg.Warn), new(storages)
	storages.resume(cfg.Resume)
	server, err := newServer(cfg, &limits, warnings)
	if err != nil {
		return nil, err
	}
	of := &shared{
		now: cfg.Now, pace: &limits, warnings: warnings, server: server, storages: storages,
		known: &catalogue{server: server, warnings: warnings},
		converter: &converter{storages: storages, normalizer: normalize.New(cfg.Key, normalize.Settings{
			Relations: cfg.Relations, Shown: cfg.Shown, Labels: cfg.Labels, Messages: cfg.Messages, Memory: cfg.Memory,
			Health: cfg.Health, Signals: cfg.Signals,
		})},
		out: &output{
			emit: cfg.Emit, reached: cfg.Reached, hold: limits.hold, patience: limits.shortPatience,
			incomplete: cfg.Incomplete,
		},
		pending: newPending(warnings),
		lists:   make(chan struct{}, maxLists),
		batched: cfg.Batches, batches: batches{of: map[*batch]struct{}{}},
	}
	of.out.listed = func() bool { return of.pending.idle() && of.learning.Load() == 0 }
	of.batches.flushed = of.out.release
	if cfg.Batches {
		of.out.hold, of.out.patience = 0, limits.patience // Flush ends the wait
	}
	w := &Watcher{shared: of, past: remember(cfg), kinds: trackNewKinds(), probes: cfg.Probes}
	w.roster = newRoster(of, w.past)
	w.explorer = &explorer{
		roster: w.roster, known: of.known, out: of.out, kinds: w.kinds,
		exclude: newExcluded(cfg.Exclude), related: cfg.Relations,
	}
	return w, nil
}

// SetHealth replaces the health rules of the configuration; nil means none. They apply to the versions
// that arrive from then on.
func (w *Watcher) SetHealth(rules *health.Rules) { w.converter.normalizer.SetHealth(rules) }

// Close ends all watching and waits for its end. Nothing is emitted afterwards. A second call is
// allowed.
func (w *Watcher) Close() {
	w.roster.close()
	w.out.close()
	w.server.link.Load().hangUp()
}

// Synced waits until each watched resource has been listed once, or was found to be unreadable.
// Resources added later make a later call wait again.
func (w *Watcher) Synced(ctx context.Context) error {
	err := w.pending.wait(ctx)
	if err == nil {
		w.out.release()
	}
	return err
}

// KindOf returns the kind of a resource's objects from the last discovery, or an empty string.
func (w *Watcher) KindOf(gvr schema.GroupVersionResource) string {
	return w.known.kind(gvr.GroupResource())
}

// Watches reports whether a stream of the resource runs and can read it.
func (w *Watcher) Watches(gr schema.GroupResource) bool { return w.roster.reads(gr) }
