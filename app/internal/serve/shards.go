// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/shard"
)

// shardGrace is for how long a server that is stopped goes on with what it owns
// while others take over what begins.
const shardGrace = 25 * time.Second

// shardRecall is for how long what is finished counts as open among servers.
// Kubernetes Events come late: of a busy controller manager by up to 20 s.
const shardRecall = 20 * time.Second

const (
	// hurryEvery is how often the watches are asked how far they have come while
	// others wait for it, and hurryAlways when they do not tell by themselves.
	hurryEvery, hurryAlways = 5 * time.Second, 2 * time.Minute
)

// shards is the server as one of several that divide the namespaces: it observes
// those that will be its own, keeps the parts of traces that are, and tells the
// others how far it is.
type shards struct {
	s      *server
	member *shard.Member
	// seen, open and told are what the hooks of the same name tell.
	seen, open, told atomic.Uint64
	// lowest is up to where every watch has come.
	lowest atomic.Uint64
	// ready is the version of the last Table that is fully observed.
	ready atomic.Int64
	// leaving are observed for a while longer; before is the View that leave has
	// seen last.
	leaving leaving
	before  shard.View

	// first is closed when there is a View to watch by; views has the last one
	// that follow has not acted upon.
	first chan struct{}
	once  sync.Once
	views chan shard.View

	// What follows is that of the member's goroutine: when the watches were last
	// asked how far they have come, and what was known before.
	hurried time.Time
	stood   uint64

	// What follows is the loop's. unsent are the parts that are stored and perhaps not delivered: when the
	// first of them began; 0 if there is none.
	unsent uint64
	begun  bool
	// version is that of the Table by which the last look went, shown since
	// when that is so.
	version int64
	shown   time.Time
}

// newShards makes the member; it takes part once it runs.
func newShards(s *server, leases leasesGetter, namespace string, c config.ReplicasConfiguration) (*shards, error) {
	h := &shards{s: s, first: make(chan struct{}), views: make(chan shard.View, 1)}
	var err error
	h.member, err = shard.New(shard.Options{
		Client:        leases,
		Namespace:     namespace,
		Name:          c.Name,
		Identity:      s.member.identity,
		LeaseDuration: c.LeaseDuration.Duration,
		RenewDeadline: c.RenewDeadline.Duration,
		RetryPeriod:   c.RetryPeriod.Duration,
		Grace:         shardGrace,
		Recall:        shardRecall,
		Log:           s.log,
		Hooks: shard.Hooks{
			OnView: h.onView,
			Ready:  h.isReady,
			Seen:   h.seen.Load,
			Open:   h.oldest,
			Told:   h.told.Load,
		},
	})
	return h, err
}

// wanted reports whether a namespace has to be observed.
func (h *shards) wanted(namespace string) bool {
	_, ok := h.member.View().Observe(namespace)
	return ok || h.leaving.has(namespace)
}

// share is what of the traces is this member's, by what it may act upon now.
func (h *shards) share() share {
	v := h.member.View()
	t := v.Table()
	wait := !v.Valid() || t.Pending != nil && t.Pending.Hold || h.reading(t.Version, time.Now())
	return share{wait: wait, part: v.Mine, since: v.Since, others: v.Others, succeeds: v.Succeeds}
}

// reading reports whether what a new View asks for is still being read: half of a
// story that is inherited would be told as several. What cannot be read must not
// hold up the rest for ever.
func (h *shards) reading(version int64, now time.Time) bool {
	if version != h.version {
		h.version, h.shown = version, now
	}
	return h.ready.Load() < version && now.Sub(h.shown) < catchUp
}

// onView begins to act upon v: what is not to be observed any more is forgotten,
// and what is new is read by follow.
func (h *shards) onView(v shard.View) {
	h.s.outbox.Hold(!v.Valid())
	if h.s.member.leads() != v.Valid() {
		h.s.lead(v.Valid())
	}
	t := v.Table()
	h.s.metrics.ShardMembers.Set(float64(members(t)))
	h.s.metrics.ShardEpoch.Set(float64(t.Version))
	if !v.Valid() {
		h.s.loop.call(func(*recorder) {}) // a look that is under way ends first
		return
	}
	h.s.loop.call(func(r *recorder) {
		h.begin(v)
		h.leave(r, v)
	})
	select {
	case <-h.views: // follow goes by the last one
	default:
	}
	h.views <- v
	h.once.Do(func() { close(h.first) })
}

// begin notes, with the first View, what an earlier process has left: where the
// oldest of it began, only its Lease tells.
func (h *shards) begin(v shard.View) {
	if !h.begun && h.s.outbox.Stats().Entries > 0 {
		h.unsent = v.Resume()
	}
	h.begun = true
}

// members is how many own something of the newest epoch.
func members(t shard.Table) int {
	if len(t.Epochs) == 0 {
		return 0
	}
	newest := &t.Epochs[len(t.Epochs)-1]
	return len(newest.Members) - len(newest.Gone)
}

// leave notes which namespaces need not be observed any more. Those that an
// earlier process observed, and that are not its any more, are forgotten at once.
func (h *shards) leave(r *recorder, v shard.View) {
	now := time.Now()
	before := h.before
	h.before = v
	gone := map[string]bool{}
	for _, namespace := range namespaces(r) {
		_, was := before.Observe(namespace)
		_, needed := v.Observe(namespace)
		h.leaving.note(namespace, was, needed, now)
		if !needed && !before.Valid() {
			gone[namespace] = true
		}
	}
	h.drop(r, gone)
}

// forget forgets the namespaces that were left long enough ago. It runs in the
// loop.
func (h *shards) forget(r *recorder) {
	h.drop(r, h.leaving.left(time.Now()))
}

// drop forgets namespaces.
func (h *shards) drop(r *recorder, gone map[string]bool) {
	if len(gone) == 0 {
		return
	}
	r.engine.Forget(func(ref object.Ref) bool { return gone[ref.Namespace] })
	for namespace := range gone {
		h.s.watcher.Left(namespace)
	}
	r.save = true // the journal does not tell of it
}

// await waits until there is a View to watch by. What is watched without one
// would be passed over, and had to be read again.
func (h *shards) await(ctx context.Context) error {
	select {
	case <-h.first:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// follow reads what is to be observed from now on, as Views come, until ctx ends.
// It begins when all that is watched was listed once. A new store has seen with
// that what the View asked for that was valid before.
func (h *shards) follow(ctx context.Context, listed shard.View) {
	var before shard.View
	for {
		var v shard.View
		select {
		case v = <-h.views:
		case <-ctx.Done():
			return
		}
		var changes []shard.Change
		if !h.caughtUp(ctx, func(r *recorder) { changes = shard.Changes(before, v, namespaces(r)) }) {
			return
		}
		for _, c := range changes {
			if _, seen := listed.Observe(c.Namespace); c.Observe && (c.Since != 0 || !seen) {
				h.s.watcher.Include(h.s.lifetime, c.Namespace, c.Since)
			}
		}
		if h.s.listed(ctx, catchUp) != nil || !h.caughtUp(ctx, func(*recorder) { h.ready.Store(v.Table().Version) }) {
			return
		}
		before, listed = v, shard.View{}
	}
}

// caughtUp calls f in the loop when all that the watches have handed on has been
// taken in, and waits for that. It is false if the server stops instead.
func (h *shards) caughtUp(ctx context.Context, f func(*recorder)) bool {
	done := make(chan struct{})
	h.s.loop.after(func() { defer close(done); f(h.s.loop.recorder) })
	select {
	case <-done:
		return true
	case <-h.s.loop.quit:
	case <-ctx.Done():
	}
	return false
}

// isReady reports whether all that v asks for is being observed.
func (h *shards) isReady(v shard.View) bool {
	return h.s.watching() == nil && h.ready.Load() >= v.Table().Version
}

// oldest is where the oldest begins that this member has to do. Others wait for
// what it says while an older epoch is there; at other times it only has to be
// less old than what the API server still knows.
func (h *shards) oldest() uint64 {
	t, lowest := h.member.View().Table(), h.lowest.Load()
	n := len(t.Epochs)
	behind := n > 1 && lowest < t.Epochs[n-1].From
	if lowest != h.stood && !behind {
		h.stood, h.hurried = lowest, time.Now()
	}
	if pause := time.Since(h.hurried); lowest != 0 && (behind && pause > hurryEvery || pause > hurryAlways) {
		h.hurried = time.Now()
		h.s.watcher.Hurry()
	}
	return h.open.Load()
}

// namespaces are the names of those that the engine knows.
func namespaces(r *recorder) []string {
	var out []string
	for ref := range r.engine.Objects() {
		if kind.Namespace.Is(ref.Kind) {
			out = append(out, ref.Name)
		}
	}
	return out
}

// stored notes how far this member has come. It runs in the loop.
func (h *shards) stored(r *recorder, l *look) {
	h.forget(r)
	lowest, highest, events := uint64(math.MaxUint64), uint64(0), uint64(math.MaxUint64)
	watching := h.s.watching() == nil
	for _, p := range r.at {
		if watching && !h.s.watcher.Follows(p) {
			continue
		}
		if rv, err := strconv.ParseUint(p.Version, 10, 64); err == nil {
			lowest, highest = min(lowest, rv), max(highest, rv)
			if p.Resource.Resource == "events" {
				events = min(events, rv)
			}
		}
	}
	h.seen.Store(highest)
	if len(r.at) > 0 {
		h.lowest.Store(lowest)
	}
	if l.share.wait || len(r.at) == 0 {
		return // nothing was concluded: what was said last is on the safe side
	}
	if h.s.outbox.Stats().Entries == 0 {
		h.unsent = 0
	}
	for _, finished := range l.batch.Finished {
		if since, ok := l.share.since(finished); ok {
			h.unsent = shard.Lower(h.unsent, max(since, 1))
		}
	}
	if events != math.MaxUint64 {
		h.told.Store(events)
	}
	open := shard.Lower(lowest+1, h.unsent)
	for _, under := range l.open {
		if since, ok := l.share.since(under); ok {
			open = shard.Lower(open, max(since, 1))
		}
	}
	h.open.Store(open)
}
