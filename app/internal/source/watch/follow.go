// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// Follow observes a resource in a namespace (empty for a cluster-scoped resource), and every
// resource that can hold the effects of a write to it, Events included.
//
// The state at resourceVersion since is emitted as Baseline, and all later changes as live. So a
// caller with the version before a write misses nothing. If the API server has discarded that
// version, the present state is the Baseline. 0 means the present.
//
// Follow returns at once and is cheap to repeat. A call with an older since restarts from there, so
// duplicates are possible. ctx bounds the watching, not the call.
func (w *Watcher) Follow(ctx context.Context, gvr schema.GroupVersionResource, namespace string, since uint64) {
	w.follow(ctx, gvr, namespace, since)
	w.startEvents(ctx, namespace, since)
}

func (w *Watcher) follow(ctx context.Context, gvr schema.GroupVersionResource, namespace string, since uint64) {
	w.start(ctx, plan{resource: gvr, namespace: namespace, since: since, seen: w.follower(ctx)})
	w.startEffects(ctx, gvr.GroupResource(), namespace, since)
}

// Look reads the objects of a resource and watches them, without their Events; only that of the name unless
// it is empty. It waits for the first list, and reports whether the resource is readable. There is no
// warning if it is not.
func (w *Watcher) Look(ctx context.Context, gvr schema.GroupVersionResource, namespace, name string) (bool, error) {
	w.start(ctx, plan{resource: gvr, namespace: namespace, name: name, quiet: true, seen: w.follower(ctx)})
	if err := w.Synced(ctx); err != nil {
		return false, err
	}
	for _, r := range w.Stats().Resources {
		if r.Resource == gvr.GroupResource() {
			return r.Streams > 0 && r.Unreadable == 0, nil
		}
	}
	return false, nil
}

// startEvents watches the Events of a namespace. Those of cluster-scoped objects are in namespace
// default.
func (w *Watcher) startEvents(ctx context.Context, namespace string, since uint64) {
	if namespace == "" {
		namespace = "default"
	}
	w.start(ctx, plan{resource: events, namespace: namespace, since: since, seen: w.follower(ctx)})
}

// startEffects watches the resources that can hold the effects of a write to gr.
func (w *Watcher) startEffects(ctx context.Context, gr schema.GroupResource, namespace string, since uint64) {
	for _, effect := range kind.OfResource(gr.Group, gr.Resource).Effects {
		w.start(
			ctx,
			plan{resource: effect.GroupVersionResource(), namespace: namespace, since: since, seen: w.follower(ctx)},
		)
	}
	if !mayCauseAnything(gr) {
		return
	}
	w.background(ctx, func(asking context.Context) {
		if _, ok := w.find(asking, func(r resource) bool { return r.GroupResource() == gr }); ok {
			w.startAll(ctx, asking, namespace, since)
		}
	})
}

// startAll watches every resource that may hold an effect of unknown kind.
func (w *Watcher) startAll(ctx, asking context.Context, namespace string, since uint64) {
	all, err := w.discover(asking, time.Hour)
	if err != nil {
		return
	}
	for _, r := range all {
		if mayHoldEffect(r, namespace) {
			w.start(ctx, plan{
				resource: r.GroupVersionResource, namespace: namespace, since: since, quiet: true,
				seen: w.follower(ctx),
			})
		}
	}
}

// background runs f. Synced and Close wait for it. The context of f ends with f.
func (w *Watcher) background(ctx context.Context, f func(context.Context)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	w.oneMore()
	w.launch(ctx, func(ctx context.Context) {
		defer w.oneSynced()
		f(ctx)
	})
}

// follower returns followed as a callback for a plan. It follows edges until ctx ends, possibly
// longer than the plan itself.
func (w *Watcher) follower(ctx context.Context) func(*stream, *observation.Observation) {
	return func(s *stream, o *observation.Observation) { w.followed(ctx, s, o) }
}

// followed emits an observation and follows its edges.
func (w *Watcher) followed(ctx context.Context, s *stream, o *observation.Observation) {
	w.hand(o)
	if s.resource.GroupResource() == crds {
		w.kinds.note(o)
	}
	if o.Gone != nil && kind.Namespace.Is(o.Gone.Kind) {
		delete(s.emptied, o.Gone.Name)
	}
	if o.Baseline || o.State == nil {
		return
	}
	if kind.Namespace.Is(o.State.Kind) && !o.State.Deleting.IsZero() && !s.emptied[o.State.Name] {
		// The deletion of a Namespace removes all its contents.
		if s.emptied == nil {
			s.emptied = map[string]bool{}
		}
		s.emptied[o.State.Name] = true
		w.startEvents(ctx, o.State.Name, s.since)
		w.background(ctx, func(asking context.Context) { w.startAll(ctx, asking, o.State.Name, s.since) })
	}
	if s.noted == nil {
		s.noted = map[object.Kind]bool{}
		w.startEffects(ctx, s.resource.GroupResource(), s.namespace, s.since)
	}
	for _, owner := range o.State.Owners {
		if !s.noted[owner.Kind] {
			s.noted[owner.Kind] = true
			w.startOwners(ctx, s, owner.Kind)
		}
	}
	if o.State.Pod != nil && o.State.Pod.Node != "" {
		w.startNode(ctx, o.State.Pod.Node, s.since)
	}
}

// startOwners watches a kind that owns the stream's objects.
func (w *Watcher) startOwners(ctx context.Context, s *stream, of object.Kind) {
	begin := func(r resource) {
		p := plan{resource: r.GroupVersionResource, since: s.since, seen: w.follower(ctx)}
		if r.namespaced {
			p.namespace = s.namespace
		}
		if p.resource != nodes { // watched by name, where a Pod is bound
			w.start(ctx, p)
		}
	}
	if k := kind.Of(of.Group, of.Kind); k.Owner {
		begin(resource{k.GroupVersionResource(), k.Kind.Kind, !k.ClusterScoped})
		return
	}
	w.background(ctx, func(asking context.Context) {
		is := func(r resource) bool { return r.Group == of.Group && r.kind == of.Kind }
		if r, ok := w.find(asking, is); ok {
			begin(r)
		}
	})
}

// startNode watches a Pod's Node for its labels. It watches by name, so that a small change does
// not list all Nodes of a large cluster.
func (w *Watcher) startNode(ctx context.Context, name string, since uint64) {
	p := plan{resource: nodes, name: name, since: since, seen: w.follower(ctx)}
	w.mu.Lock()
	if w.streams[p.key()] == nil {
		w.namedNodes++
	}
	if w.namedNodes > maxNamedNodes {
		p.name = ""
	}
	w.mu.Unlock()
	w.start(ctx, p)
}
