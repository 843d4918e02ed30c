// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// Scope says what Watch observes.
type Scope struct {
	// Namespaces limits it to these, and to kinds that are namespaced unless
	// Resources names others; nil is the whole cluster.
	Namespaces []string
	// Resources limits it to these, and to what can hold what they cause; nil
	// is every resource that can be watched, also those that appear later.
	Resources []schema.GroupResource
}

// refreshInterval is how often the API server is asked what it offers, for
// those who may not watch CustomResourceDefinitions.
const refreshInterval = 2 * time.Minute

// Watch observes what the scope says, from the present on, until ctx is done.
// It returns when it knows what there is to watch; an error means that the
// cluster could not be asked, or does not offer a resource that the scope names.
func (w *Watcher) Watch(ctx context.Context, scope Scope) error {
	all, err := w.discover(ctx, time.Minute)
	if err != nil {
		return err
	}
	w.startProbing(ctx)
	w.past.recall()
	if scope.Resources != nil {
		return w.watchSome(ctx, scope, all)
	}
	if scope.Namespaces != nil {
		w.start(ctx, plan{
			resource: crds.WithVersion("v1"), quiet: true,
			seen: func(_ *stream, o *observation.Observation) { w.kinds.note(o) },
		})
	}
	w.kinds.stood(all, w.past.from)
	w.watchAll(ctx, scope, all)
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.launch(ctx, func(ctx context.Context) { w.keepUp(ctx, scope) })
	}
	return nil
}

func (w *Watcher) watchSome(ctx context.Context, scope Scope, all []resource) error {
	for _, gr := range scope.Resources {
		i := slices.IndexFunc(all, func(r resource) bool { return r.GroupResource() == gr })
		if i < 0 {
			return fmt.Errorf("cannot watch %s: the API server does not offer it", gr)
		}
		for _, namespace := range scope.namespaces(all[i]) {
			w.follow(ctx, all[i].GroupVersionResource, namespace, 0)
			if all[i].namespaced {
				w.start(ctx, plan{resource: events, namespace: namespace, seen: w.follower(ctx)})
			} else {
				w.startEvents(ctx, "", 0)
			}
		}
	}
	return nil
}

// watchAll starts whatever of the scope is not being watched yet.
func (w *Watcher) watchAll(ctx context.Context, scope Scope, all []resource) {
	for _, r := range all {
		gvr := r.GroupVersionResource
		if gvr.GroupResource() == coreEvents.GroupResource() {
			gvr = events
		}
		if scope.Namespaces != nil && !r.namespaced {
			continue
		}
		since, known := w.kinds.since(gvr.GroupResource())
		if !known {
			continue
		}
		for _, namespace := range scope.namespaces(r) {
			w.start(ctx, plan{resource: gvr, namespace: namespace, since: since, old: since != 0 && since == w.past.kindsFrom, seen: w.follower(ctx)})
		}
	}
}

func (s Scope) namespaces(r resource) []string {
	if s.Namespaces == nil || !r.namespaced {
		return []string{""}
	}
	return s.Namespaces
}

// keepUp watches kinds that appear, and drops those that vanish.
func (w *Watcher) keepUp(ctx context.Context, scope Scope) {
	pause, agreed := refreshInterval, true
	for {
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-w.kinds.changed:
			timer.Stop()
			agreed = true // as far as is known
		case <-timer.C:
		}
		for _, kind := range w.kinds.takeDropped() {
			w.drop(kind)
			w.buryOrphans(kind)
		}
		all, err := w.discover(ctx, 0)
		if err != nil {
			continue // the streams say what is wrong
		}
		before := agreed
		agreed = w.kinds.offered(all)
		w.watchAll(ctx, scope, all)
		switch {
		case agreed:
			pause = refreshInterval
		case before:
			pause = 100 * time.Millisecond
		default:
			pause = min(2*pause, refreshInterval)
		}
	}
}

// drop ends the watching of a resource that is not offered any more: with its
// definition all its objects are gone.
func (w *Watcher) drop(kind droppedKind) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for k, s := range w.streams {
		if k.GroupResource == kind.GroupResource {
			s.vanished.Store(kind.version)
			s.cancel()
			delete(w.streams, k)
		}
	}
}
