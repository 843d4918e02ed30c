// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/relation"
)

// explorer watches the resources that can hold the effects of observed changes. It is safe for
// concurrent use.
type explorer struct {
	roster  *roster
	known   *catalogue
	out     *output
	kinds   *newKinds
	exclude excluded
	related *relation.Set

	mu sync.Mutex
	// namedNodes counts the Nodes watched by name.
	namedNodes int
}

// start watches a target, unless its resource is excluded.
func (e *explorer) start(ctx context.Context, p plan) {
	gr := p.resource.GroupResource()
	if !e.exclude.has(gr, e.related.Has(schema.GroupKind{Group: gr.Group, Kind: e.known.kind(gr)})) {
		e.roster.start(ctx, p)
	}
}

// startFollowed is start, with further streams for the edges of the observations. These streams last
// until ctx ends, possibly longer than that of the plan.
func (e *explorer) startFollowed(ctx context.Context, p plan) {
	from := &edges{of: p}
	p.seen = func(o *observation.Observation) {
		e.out.hand(o)
		e.follow(ctx, from, o)
	}
	e.start(ctx, p)
}

// startWithEffects watches a resource and those that can hold the effects of a write to it.
func (e *explorer) startWithEffects(
	ctx context.Context, gvr schema.GroupVersionResource, namespace string, since uint64,
) {
	e.startFollowed(ctx, plan{resource: gvr, namespace: namespace, since: since})
	e.startEffects(ctx, gvr.GroupResource(), namespace, since)
}

// startEvents watches the Events of a namespace. Those of cluster-scoped objects are in namespace
// default.
func (e *explorer) startEvents(ctx context.Context, namespace string, since uint64) {
	if namespace == "" {
		namespace = "default"
	}
	e.startFollowed(ctx, plan{resource: events, namespace: namespace, since: since})
}

// startEffects watches the resources that can hold the effects of a write to gr.
func (e *explorer) startEffects(ctx context.Context, gr schema.GroupResource, namespace string, since uint64) {
	for _, effect := range kind.OfResource(gr.Group, gr.Resource).Effects {
		e.startFollowed(ctx, plan{resource: effect.GroupVersionResource(), namespace: namespace, since: since})
	}
	if !mayCauseAnything(gr) {
		return
	}
	e.roster.background(ctx, func(asking context.Context) {
		if _, ok := e.known.find(asking, gr.Group, func(r resource) bool { return r.GroupResource() == gr }); ok {
			e.startAll(ctx, asking, namespace, since)
		}
	})
}

// startAll watches every resource that may hold an effect of unknown kind.
func (e *explorer) startAll(ctx, asking context.Context, namespace string, since uint64) {
	all, err := e.known.discover(asking, time.Hour)
	if err != nil {
		return
	}
	for _, r := range all {
		if mayHoldEffect(r, namespace) {
			e.startFollowed(ctx, plan{
				resource: r.GroupVersionResource, namespace: namespace, since: since, quiet: true,
			})
		}
	}
}

// edges are the edges of one stream's observations that are followed already.
type edges struct {
	of plan
	// noted are the kinds of the owners; nil before the first change.
	noted map[object.Kind]bool
	// emptied are the deleted Namespaces whose contents are watched.
	emptied map[string]bool
}

// follow watches the resources that an observation points to.
func (e *explorer) follow(ctx context.Context, from *edges, o *observation.Observation) {
	p := &from.of
	if p.resource.GroupResource() == crds {
		e.kinds.note(o)
	}
	if o.Gone != nil && kind.Namespace.Is(o.Gone.Kind) {
		delete(from.emptied, o.Gone.Name)
	}
	if o.Baseline || o.State == nil {
		return
	}
	if kind.Namespace.Is(o.State.Kind) && !o.State.Deleting.IsZero() && !from.emptied[o.State.Name] {
		// The deletion of a Namespace removes all its contents.
		if from.emptied == nil {
			from.emptied = map[string]bool{}
		}
		from.emptied[o.State.Name] = true
		e.startEvents(ctx, o.State.Name, p.since)
		e.roster.background(ctx, func(asking context.Context) { e.startAll(ctx, asking, o.State.Name, p.since) })
	}
	if from.noted == nil {
		from.noted = map[object.Kind]bool{}
		e.startEffects(ctx, p.resource.GroupResource(), p.namespace, p.since)
	}
	for _, owner := range o.State.Owners {
		if !from.noted[owner.Kind] {
			from.noted[owner.Kind] = true
			e.startOwners(ctx, p, owner.Kind)
		}
	}
	switch {
	case o.State.Pod == nil:
	case o.State.Pod.Node != "":
		e.startNode(ctx, o.State.Pod.Node, p.since)
	case slices.ContainsFunc(o.State.Relations, func(r object.Relation) bool { return r.Type == object.Claim }):
		// A claim that is not bound is the reason of the Pod.
		e.startFollowed(ctx, plan{resource: claims, namespace: o.State.Namespace, since: p.since, quiet: true})
	}
}

// startOwners watches a kind that owns the objects of a plan.
func (e *explorer) startOwners(ctx context.Context, from *plan, of object.Kind) {
	begin := func(r resource) {
		p := plan{resource: r.GroupVersionResource, since: from.since}
		if r.namespaced {
			p.namespace = from.namespace
		}
		if p.resource != nodes { // watched by name, where a Pod is bound
			e.startFollowed(ctx, p)
		}
	}
	if k := kind.Of(of.Group, of.Kind); k.Owner {
		begin(resource{k.GroupVersionResource(), k.Kind.Kind, !k.ClusterScoped})
		return
	}
	e.roster.background(ctx, func(asking context.Context) {
		is := func(r resource) bool { return r.kind == of.Kind }
		if r, ok := e.known.find(asking, of.Group, is); ok {
			begin(r)
		}
	})
}

// startNode watches a Pod's Node for its labels. It watches by name, so that a small change does
// not list all Nodes of a large cluster.
func (e *explorer) startNode(ctx context.Context, name string, since uint64) {
	p := plan{resource: nodes, name: name, since: since}
	known := e.roster.has(p.key())
	e.mu.Lock()
	if !known {
		e.namedNodes++
	}
	if e.namedNodes > maxNamedNodes {
		p.name = ""
	}
	e.mu.Unlock()
	e.startFollowed(ctx, p)
}
