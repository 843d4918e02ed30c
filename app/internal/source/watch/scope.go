// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"fmt"
	"slices"
	"sync"
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
	if scope.Resources != nil {
		return w.watchSome(ctx, scope, all)
	}
	if scope.Namespaces != nil {
		w.start(ctx, plan{
			resource: crds.WithVersion("v1"), quiet: true,
			seen: func(_ context.Context, _ *stream, o *observation.Observation) { w.kinds.note(o) },
		})
	}
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
				w.start(ctx, plan{resource: events, namespace: namespace, seen: w.followed})
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
		for _, namespace := range scope.namespaces(r) {
			w.start(ctx, plan{resource: gvr, namespace: namespace, since: w.kinds.since(gvr.GroupResource()), seen: w.followed})
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
	pause := refreshInterval
	for {
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-w.kinds.changed:
			timer.Stop()
			pause = 100 * time.Millisecond
		case <-timer.C:
			pause *= 2
		}
		for _, gr := range w.kinds.takeGone() {
			w.drop(gr)
		}
		all, err := w.discover(ctx, 0)
		if err != nil {
			continue // the streams say what is wrong
		}
		w.watchAll(ctx, scope, all)
		if w.kinds.offered(all) || pause > refreshInterval {
			pause = refreshInterval
		}
	}
}

// drop ends the watching of a resource that is not offered any more.
func (w *Watcher) drop(gr schema.GroupResource) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for k, s := range w.streams {
		if k.GroupResource == gr {
			s.cancel()
			delete(w.streams, k)
		}
	}
}

// newKinds keeps the CustomResourceDefinitions that came or went while
// watching. A kind that came is watched from the version of its definition on,
// so that its first objects are seen to happen.
type newKinds struct {
	mu      sync.Mutex
	came    map[schema.GroupResource]uint64
	waiting map[schema.GroupResource]bool
	gone    []schema.GroupResource
	changed chan struct{}
}

func makeNewKinds() newKinds {
	return newKinds{
		came:    map[schema.GroupResource]uint64{},
		waiting: map[schema.GroupResource]bool{},
		changed: make(chan struct{}, 1),
	}
}

// note takes an observation of a CustomResourceDefinition.
func (n *newKinds) note(o *observation.Observation) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case o.Gone != nil:
		gr := schema.ParseGroupResource(o.Gone.Name)
		delete(n.came, gr)
		delete(n.waiting, gr)
		n.gone = append(n.gone, gr)
	case o.State != nil && !o.Baseline:
		gr := schema.ParseGroupResource(o.State.Name)
		if n.came[gr] != 0 {
			return
		}
		n.came[gr] = o.State.ResourceVersion
		n.waiting[gr] = true
	default:
		return
	}
	select {
	case n.changed <- struct{}{}:
	default:
	}
}

// since is the version from which a resource is watched; 0 if it was there
// before.
func (n *newKinds) since(gr schema.GroupResource) uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.came[gr]
}

func (n *newKinds) takeGone() []schema.GroupResource {
	n.mu.Lock()
	defer n.mu.Unlock()
	gone := n.gone
	n.gone = nil
	return gone
}

// offered reports whether all kinds that came are in discovery: it lags behind
// their definitions.
func (n *newKinds) offered(all []resource) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range all {
		delete(n.waiting, r.GroupResource())
	}
	return len(n.waiting) == 0
}
