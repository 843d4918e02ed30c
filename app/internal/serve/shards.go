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

// shardGrace is the time for which a stopping server continues with its namespaces, while others
// take over new changes.
const shardGrace = 25 * time.Second

// shardRecall is the time for which a finished trace counts as open between servers. Kubernetes
// Events come late: up to 20 s from a busy controller manager.
const shardRecall = 20 * time.Second

const (
	// hurryEvery is the period of requests for the watches' positions while other servers wait for
	// them. hurryAlways is the period while the positions do not advance.
	hurryEvery, hurryAlways = 5 * time.Second, 2 * time.Minute
)

// shards is the server as one of several that divide the namespaces. It observes its present and
// future namespaces, keeps its parts of traces, and publishes its progress.
type shards struct {
	s      *server
	member *shard.Member
	// seen, open and complete are the results of the hooks Seen, Open and Complete.
	seen, open, complete atomic.Uint64
	// lowest is the lowest position of all watches.
	lowest atomic.Uint64
	// ready is the version of the last Table whose namespaces are all observed.
	ready atomic.Int64
	// leaving are namespaces that are still observed for a while. before is the last View of leave.
	leaving leaving
	before  shard.View

	// first is closed with the first View. views has the newest View that follow has not applied.
	first chan struct{}
	once  sync.Once
	views chan shard.View

	// These fields belong to the member's goroutine: the time of the last request for positions,
	// and the last lowest position.
	hurried time.Time
	stood   uint64

	// These fields belong to the loop. unsent is the earliest start of the stored parts that may be
	// undelivered; 0 without any.
	unsent uint64
	begun  bool
	// version is the last look's version of the Table, and shown the time since when.
	version int64
	shown   time.Time
}

// newShards makes the member; its Run starts it.
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
			OnView:   h.onView,
			Ready:    h.isReady,
			Seen:     h.seen.Load,
			Open:     h.oldest,
			Complete: h.complete.Load,
		},
	})
	return h, err
}

// wanted reports whether a namespace is observed.
func (h *shards) wanted(namespace string) bool {
	_, ok := h.member.View().Observe(namespace)
	return ok || h.leaving.has(namespace)
}

// share returns this member's part of the traces by the valid View.
func (h *shards) share() share {
	v := h.member.View()
	t := v.Table()
	wait := !v.Valid() || t.Pending != nil && t.Pending.Hold || h.reading(t.Version, time.Now())
	return share{wait: wait, part: v.Mine, since: v.Since, others: v.Others, succeeds: v.Succeeds}
}

// reading reports whether new namespaces of the View are still being read. A half-read namespace
// would yield several traces. An unreadable one must not block the rest for ever.
func (h *shards) reading(version int64, now time.Time) bool {
	if version != h.version {
		h.version, h.shown = version, now
	}
	return h.ready.Load() < version && now.Sub(h.shown) < catchUp
}

// onView applies v: it marks the namespaces that are not needed any more, and passes v to follow
// for the new ones.
func (h *shards) onView(v shard.View) {
	h.s.outbox.Hold(!v.Valid())
	if h.s.member.leads() != v.Valid() {
		h.s.lead(v.Valid())
	}
	t := v.Table()
	h.s.metrics.ShardMembers.Set(float64(members(t)))
	h.s.metrics.ShardEpoch.Set(float64(t.Version))
	if !v.Valid() {
		h.s.loop.call(func(*recorder) {}) // waits for the running look
		return
	}
	h.s.loop.call(func(r *recorder) {
		h.begin(v)
		h.leave(r, v)
	})
	select {
	case <-h.views: // follow needs only the newest
	default:
	}
	h.views <- v
	h.once.Do(func() { close(h.first) })
}

// begin handles the first View. Only the Lease has the start of the oldest trace of an earlier
// process.
func (h *shards) begin(v shard.View) {
	if !h.begun && h.s.outbox.Stats().Entries > 0 {
		h.unsent = v.Resume()
	}
	h.begun = true
}

// members counts the owners of the newest epoch.
func members(t shard.Table) int {
	if len(t.Epochs) == 0 {
		return 0
	}
	newest := &t.Epochs[len(t.Epochs)-1]
	return len(newest.Members) - len(newest.Gone)
}

// leave marks the namespaces that are not needed any more. It forgets at once the former namespaces
// of an earlier process.
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

// forget removes the namespaces whose time in leaving is over. It runs in the loop.
func (h *shards) forget(r *recorder) {
	h.drop(r, h.leaving.left(time.Now()))
}

// drop removes namespaces from the engine and the watcher.
func (h *shards) drop(r *recorder, gone map[string]bool) {
	if len(gone) == 0 {
		return
	}
	r.engine.Forget(func(ref object.Ref) bool { return gone[ref.Namespace] })
	for namespace := range gone {
		h.s.watcher.Left(namespace)
	}
	r.save = true // the journal has no record of it
}

// await waits for the first View. Data of a watch without a View would be skipped, and would have
// to be read again.
func (h *shards) await(ctx context.Context) error {
	select {
	case <-h.first:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// follow reads the new namespaces of each View, until ctx ends. It starts after the first lists.
// With a new store, these lists cover the namespaces of the View listed.
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

// caughtUp calls f in the loop after all items of the watches so far, and waits for it. It returns
// false if the server stops instead.
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

// isReady reports whether all namespaces of v are observed.
func (h *shards) isReady(v shard.View) bool {
	return h.s.watching() == nil && h.ready.Load() >= v.Table().Version
}

// oldest is the start of this member's oldest open work. Other members wait for it while an older
// epoch exists. At other times it only has to stay within the API server's history.
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

// namespaces are the names of the engine's namespaces.
func namespaces(r *recorder) []string {
	var out []string
	for ref := range r.engine.Objects() {
		if kind.Namespace.Is(ref.Kind) {
			out = append(out, ref.Name)
		}
	}
	return out
}

// stored updates this member's progress. It runs in the loop.
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
		return // nothing was concluded, and the earlier values stay valid
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
		h.complete.Store(events)
	}
	open := shard.Lower(lowest+1, h.unsent)
	for _, under := range l.open {
		if since, ok := l.share.since(under); ok {
			open = shard.Lower(open, max(since, 1))
		}
	}
	h.open.Store(open)
}
