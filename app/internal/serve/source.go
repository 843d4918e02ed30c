// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"fmt"
	"maps"
	"math"

	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
)

// newWatcher makes the source. It resumes at the recorder's positions, and compares lists with the
// engine's objects.
func (s *server) newWatcher(conf *rest.Config, r *recorder) (err error) {
	s.watcher, err = watch.New(watch.Config{
		REST:      conf,
		Key:       r.digestKey,
		Reload:    s.connect,
		Probes:    true,
		Batches:   true,
		Exclude:   s.conf.Load().Watch.Excluded(),
		Relations: s.declared,
		Shown:     s.conf.Load().Shown(),
		Labels:    s.conf.Load().Labels,
		// Not of a Secret or ConfigMap: their content is not read.
		KeepMessages: s.conf.Load().Messages == config.MessagesKeep,
		Now:          s.clock.Now,
		Emit:         s.loop.emit,
		Reached:      s.loop.reached,
		Resume:       r.positions(),
		// A copy: the loop changes the engine meanwhile.
		Known: maps.All(maps.Collect(r.engine.Objects())),
		Warn:  func(format string, args ...any) { s.log.Warn(fmt.Sprintf(format, args...)) },
	})
	return err
}

// watch watches the cluster until ctx ends. It returns errBlind if the first lists show that every
// resource is forbidden.
func (s *server) watch(ctx context.Context) error {
	scope := watch.Scope{}
	if names := s.conf.Load().Watch.Namespaces; len(names) > 0 {
		scope.Namespaces = names
	}
	begin := func(ctx context.Context) error { return s.watcher.Watch(ctx, scope) }
	if err := again(ctx, s.log, "watch the cluster", begin); err != nil {
		return err // ctx has ended
	}
	s.waitFor("the first lists")
	if err := s.listed(ctx, catchUp); err != nil {
		return err // ctx has ended
	}
	if blind(s.watcher.Stats()) {
		return errBlind
	}
	s.member.came.CompareAndSwap(math.MaxInt64, s.clock.Now().UnixNano())
	s.behind.synced.Store(true)
	s.state.set(func(st *state) { st.watching = s.clock.Now() })
	s.loop.do(func(r *recorder) { r.orphans.since = s.clock.Now() })
	// Before the first stored look, a kill would lose the changes until the next start. So the
	// server is ready only after it.
	s.waitFor("the storage of the first lists")
	s.loop.afterStored(func() {
		s.waitFor("")
		s.log.Info("watching the cluster")
	})
	<-ctx.Done()
	return nil
}
