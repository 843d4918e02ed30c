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

// Scope selects the resources that Watch observes.
type Scope struct {
	// Namespaces limits the scope to these namespaces, and to namespaced kinds unless Resources
	// names others. Nil means the whole cluster.
	Namespaces []string
	// Resources limits the scope to these resources and those that can hold their effects. Nil
	// means every resource that can be watched, including resources that appear later.
	Resources []schema.GroupResource
}

// refreshInterval is the discovery interval, for users without the right to watch
// CustomResourceDefinitions.
const refreshInterval = 2 * time.Minute

// Watch observes the scope from the present on, until ctx is done. It returns after discovery. An
// error means that discovery failed, or that the cluster does not offer a resource in the scope.
func (w *Watcher) Watch(ctx context.Context, scope Scope) error {
	all, err := w.known.discover(ctx, time.Minute)
	if err != nil {
		return err
	}
	if w.probes && !w.probing.Swap(true) {
		w.roster.run(ctx, w.server.probe)
	}
	w.past.recall()
	defer w.pending.together()()
	if scope.Resources != nil {
		return w.watchSome(ctx, scope, all)
	}
	w.known.warnOfAll()
	if scope.Namespaces != nil {
		w.explorer.start(ctx, plan{resource: crds.WithVersion("v1"), quiet: true, seen: w.kinds.note})
	}
	w.kinds.stood(all, w.past.from)
	w.watchAll(ctx, scope, all)
	w.roster.run(ctx, func(ctx context.Context) { w.keepUp(ctx, scope) })
	return nil
}

func (w *Watcher) watchSome(ctx context.Context, scope Scope, all []resource) error {
	for _, gr := range scope.Resources {
		i := slices.IndexFunc(all, func(r resource) bool { return r.GroupResource() == gr })
		if i < 0 {
			w.known.warn(func(group string) bool { return group == gr.Group })
			return fmt.Errorf("cannot watch %s: the API server does not offer it", gr)
		}
		for _, namespace := range scope.namespaces(all[i]) {
			w.explorer.startWithEffects(ctx, all[i].GroupVersionResource, namespace, 0)
			if all[i].namespaced {
				w.explorer.startFollowed(ctx, plan{resource: events, namespace: namespace})
			} else {
				w.explorer.startEvents(ctx, "", 0)
			}
		}
	}
	return nil
}

// watchAll starts the missing streams of the scope.
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
			w.explorer.startFollowed(ctx, plan{
				resource: gvr, namespace: namespace, since: since, old: since != 0 && since == w.past.kindsFrom,
			})
		}
	}
}

func (s Scope) namespaces(r resource) []string {
	if s.Namespaces == nil || !r.namespaced {
		return []string{""}
	}
	return s.Namespaces
}

// keepUp starts streams for new kinds and drops removed ones.
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
			agreed = true // the pauses below begin short again
		case <-timer.C:
		}
		for _, kind := range w.kinds.takeDropped() {
			w.roster.drop(kind)
			w.buryOrphans(kind)
		}
		all, err := w.known.discover(ctx, 0)
		if err != nil {
			continue // the streams give the warnings
		}
		w.known.warnOfAll()
		before := agreed
		agreed = w.kinds.offered(all)
		started := w.pending.together()
		w.watchAll(ctx, scope, all)
		started()
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

// buryOrphans emits the removal of all objects of a resource that was removed before its stream
// could start.
func (w *Watcher) buryOrphans(kind droppedKind) {
	for uid, h := range w.past.orphaned(kind.GroupResource) {
		w.out.hand(&observation.Observation{
			Seen: w.now(), Source: observation.SourceWatch, Listed: true,
			Gone: &observation.Gone{Ref: h.ref(uid), ResourceVersion: kind.version},
		})
	}
	for _, p := range w.past.leftover(kind.GroupResource) {
		w.roster.gone(p)
	}
}
