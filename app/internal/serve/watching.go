// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
)

// watching is the part that watches the cluster.
type watching struct {
	watcher *watch.Watcher
	in      *intake
	scope   watch.Scope
	state   *readiness
	now     func() time.Time
	log     *slog.Logger
	behind  behind
	// last are the statistics just before the end of the watches; nil until then. A look after the end
	// must not take a watch that was behind for one without a lag.
	last atomic.Pointer[watch.Stats]
	task task
	// discovered is closed when the kinds of the cluster are known.
	discovered chan struct{}
}

// newWatching returns a watching of some namespaces, or of all without any. It emits to the intake.
func newWatching(
	c watch.Config, namespaces []string, in *intake, state *readiness, log *slog.Logger, fail func(error),
) (*watching, error) {
	w := &watching{in: in, state: state, now: c.Now, log: log, discovered: make(chan struct{})}
	if len(namespaces) > 0 {
		w.scope.Namespaces = namespaces
	}
	c.Emit, c.Reached = in.emit, in.reached
	c.Probes, c.Batches = true, true
	c.Warn = func(format string, args ...any) { log.Warn(fmt.Sprintf(format, args...)) }
	var err error
	if w.watcher, err = watch.New(c); err != nil {
		return nil, err
	}
	w.task = task{name: "watch", run: w.run, fail: fail}
	return w, nil
}

// Start implements part.
func (w *watching) Start(ctx context.Context) error { return w.task.Start(ctx) }

// Stop implements part. The waiting changes are passed on first. Then the intake must be closed: a
// watch may wait for room in it. The run ends before the watches: the end of a first list is not its
// success.
func (w *watching) Stop() error {
	<-w.watcher.Flush(flushTime)
	w.in.close()
	stats := w.watcher.Stats()
	w.last.Store(&stats)
	err := w.task.Stop()
	w.watcher.Close()
	return err
}

// run watches until ctx ends. It returns ErrBlind if the first lists show that every resource is
// forbidden.
func (w *watching) run(ctx context.Context) error {
	begin := func(ctx context.Context) error { return w.watcher.Watch(ctx, w.scope) }
	if err := again(ctx, w.log, "watch the cluster", begin); err != nil {
		return err // ctx has ended
	}
	close(w.discovered)
	w.state.waitFor("the first lists")
	if err := listed(ctx, w.watcher, catchUp, w.log); err != nil || ctx.Err() != nil {
		return err // ctx has ended
	}
	if blind(w.watcher.Stats()) {
		return ErrBlind
	}
	w.state.list(w.now())
	w.behind.synced.Store(true)
	w.in.do(func(r *recorder) { r.orphans.since = w.now() })
	// Before the first stored look, a kill would lose the changes until the next start. So the
	// server is ready only after it.
	w.state.waitFor("the storage of the first lists")
	w.in.afterStored(func() {
		w.state.waitFor("")
		w.log.Info("watching the cluster")
	})
	<-ctx.Done()
	return nil
}

// watches reports whether the objects of a resource in a namespace are watched. The namespace of a
// cluster-scoped object is empty.
func (w *watching) watches(gr schema.GroupResource, namespace string) bool {
	if len(w.scope.Namespaces) > 0 && !slices.Contains(w.scope.Namespaces, namespace) {
		return false
	}
	return w.watcher.Watches(gr)
}

// late reports whether a look waits for watches that are behind. It is for the loop.
func (w *watching) late() bool {
	stats := w.last.Load()
	if stats == nil {
		now := w.watcher.Stats()
		stats = &now
	}
	return w.behind.check(*stats, w.in.waiting(), time.Now())
}

// counts returns the counts.
func (w *watching) counts() *watchCounts {
	stats := w.watcher.Stats()
	return &watchCounts{Stats: stats, lag: max(stats.Lag, w.away())}
}

// check is a check of health.
func (w *watching) check() error {
	if err := w.state.check(); err != nil {
		return err
	}
	if blind(w.watcher.Stats()) {
		return ErrBlind
	}
	return nil
}

// outageAfter is the shortest reported outage of the API server. A restart takes some seconds.
const outageAfter = 10 * time.Second

// away is the duration of the API server's outage; 0 without one, or before outageAfter.
func (w *watching) away() time.Duration {
	// The error of check has more detail.
	if w.check() == nil {
		if away := outage(w.watcher.Stats(), w.now()); away >= outageAfter {
			return away
		}
	}
	return 0
}

// reaching is a note of health. The server stays ready: its stored traces are readable, it loses
// nothing, and another server would be no better.
func (w *watching) reaching() error {
	if away := w.away(); away > 0 {
		return fmt.Errorf(
			"not reached for %s: stored traces are readable, and the changes of this time follow later",
			away.Round(time.Second),
		)
	}
	return nil
}

// readiness is what health and the API report about the start of the watches. It is safe for
// concurrent use.
type readiness struct {
	mu sync.Mutex
	// waitsFor is the missing part of a server that is not ready.
	waitsFor string
	// since is the time since which this process watches the cluster; zero before the first lists are
	// complete.
	since time.Time
}

func (s *readiness) waitFor(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waitsFor = what
}

// list notes the end of the first lists, and listed returns it.
func (s *readiness) list(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = at
}

func (s *readiness) listed() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.since
}

// check is a check of health before the watches exist.
func (s *readiness) check() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waitsFor != "" {
		return errors.New("waiting for " + s.waitsFor)
	}
	return nil
}

// ErrBlind is the error of a server without any right to watch.
var ErrBlind = errors.New("nothing may be watched: give the user of the kubeconfig, or the ServiceAccount, " +
	"the rights that `lifeline rbac` prints")
