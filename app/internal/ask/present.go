// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/lifecycle"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/pipeline"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
	"github.com/kube-lifeline/lifeline/app/internal/source/proxy"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// present is the present state of a part of a cluster, with an engine that has it.
type present struct {
	seen    *seen
	engine  *lifecycle.Engine
	cluster string
	lacking map[string]bool
	// read are the kinds of which all objects were read.
	read map[schema.GroupKind]bool
	now  time.Time
	// traces are those of the engine at the time now, the oldest first; nil before the first use.
	traces []*span.Trace
}

// readPresent reads all objects of the scope, their Events, and the Nodes of the Pods that are not ready. Kinds that
// may not be read are reported in one line.
func readPresent(ctx context.Context, o *cli.Options, scope watch.Scope) (*present, error) {
	if o.Kubeconfig == nil {
		return nil, proxy.ErrNoConfig
	}
	ctx, cancel := context.WithTimeout(ctx, rebuildPatience)
	defer cancel()
	identity := pipeline.Identify(ctx, o.Kubeconfig.Current())
	out := &present{seen: &seen{states: map[types.UID]*observation.State{}}, lacking: map[string]bool{}}
	cfg := rest.CopyConfig(o.Kubeconfig.Current())
	cfg.UserAgent = o.UserAgent()
	w, err := watch.New(watch.Config{REST: cfg, Now: o.Now, Emit: out.seen.add})
	if err != nil {
		return nil, err
	}
	defer w.Close()
	if err := w.Watch(ctx, scope); err != nil {
		return nil, fmt.Errorf("cannot read the cluster: %w", err)
	}
	if err := w.Synced(ctx); err != nil {
		return nil, fmt.Errorf("cannot read the cluster within %s: %w", rebuildPatience, err)
	}
	if err := sayUnread(o, w.Stats().Resources, scope); err != nil {
		return nil, err
	}
	for _, name := range out.places() {
		// Without the right to read a Node, nothing is known of it.
		readable, _ := w.Look(ctx, kind.Node.GroupVersionResource(), "", name)
		out.lacking[name] = readable && out.seen.find(func(s *observation.State) bool {
			return kind.Node.Is(s.Kind) && s.Name == name
		}) == nil
	}
	out.read = readKinds(w)
	w.Close()
	out.cluster, out.now = <-identity, o.Time()
	out.derive()
	return out, nil
}

// readKinds returns the kinds of which w has read all objects.
func readKinds(w *watch.Watcher) map[schema.GroupKind]bool {
	out := map[schema.GroupKind]bool{}
	for _, r := range w.Stats().Resources {
		if r.Streams > 0 && r.Unreadable == 0 {
			of := schema.GroupVersionResource{Group: r.Resource.Group, Resource: r.Resource.Resource}
			out[schema.GroupKind{Group: r.Resource.Group, Kind: w.KindOf(of)}] = true
		}
	}
	return out
}

// of returns the traces with an object, and its reason if it has converged and does not work.
func (p *present) of(ref object.Ref) ([]*span.Trace, reason.Reason) {
	at := p.seen.find(func(s *observation.State) bool {
		return s.Is(ref.Group, ref.Kind.Kind) && s.Name == ref.Name && s.Namespace == ref.Namespace
	})
	if at == nil {
		return nil, reason.Reason{}
	}
	if p.traces == nil {
		p.traces = p.engine.Traces(p.now)
	}
	var out []*span.Trace
	for _, t := range p.traces {
		if slices.ContainsFunc(t.Spans, func(s *span.Span) bool { return s.Object.UID == at.UID }) {
			out = append(out, t)
		}
	}
	return out, standingOf(p.engine, &family{target: at.UID, seen: p.seen, read: p.read, lacking: p.lacking})
}

// places returns the names of the Nodes of the Pods that are not ready, at most maxPlaces.
func (p *present) places() []string {
	names := map[string]bool{}
	for _, s := range p.seen.states {
		if s.Pod != nil && unready(s) {
			names[s.Pod.Node] = true
		}
	}
	all := slices.Sorted(maps.Keys(names))
	return all[:min(len(all), maxPlaces)]
}

// derive gives all observations to the engine.
func (p *present) derive() {
	p.engine = lifecycle.New(lifecycle.Options{Cluster: p.cluster, Rebuild: true})
	names := map[types.UID]string{}
	for uid, s := range p.seen.states {
		if s.Pod != nil {
			names[uid] = s.Name
		}
	}
	p.engine.NamePods(names)
	p.engine.LackNodes(p.lacking)
	for _, o := range p.seen.all {
		p.engine.Observe(o)
	}
}

// stateless are the resources whose objects cannot be broken. Many users may not read some of them.
var stateless = map[schema.GroupResource]bool{
	{Resource: "secrets"}: true, {Resource: "podtemplates"}: true,
	{Group: "rbac.authorization.k8s.io", Resource: "roles"}:               true,
	{Group: "rbac.authorization.k8s.io", Resource: "rolebindings"}:        true,
	{Group: "rbac.authorization.k8s.io", Resource: "clusterroles"}:        true,
	{Group: "rbac.authorization.k8s.io", Resource: "clusterrolebindings"}: true,
}

// definitions are outside of each namespace. They are watched for new kinds.
var definitions = kind.CustomResourceDefinition.GroupVersionResource().GroupResource()

// maxUnread is the number of resources in the message about those that may not be read.
const maxUnread = 5

// sayUnread prints which of all resources of the scope may not be read. It returns an error if that is true of each.
func sayUnread(o *cli.Options, all []watch.ResourceStats, scope watch.Scope) error {
	where := "the cluster"
	if len(scope.Namespaces) > 0 {
		where = "namespace " + cli.Shown(scope.Namespaces[0])
	}
	var unread []string
	readable := false
	for _, r := range all {
		switch {
		case r.Unreadable == 0:
			readable = true
		case scope.Namespaces != nil && r.Resource == definitions:
		case !stateless[r.Resource]:
			unread = append(unread, cli.Shown(r.Resource.String()))
		}
	}
	switch n := len(unread); {
	case !readable && len(all) > 0:
		return fmt.Errorf("you may read nothing in %s: name another namespace with -n, or a server with --server",
			where)
	case n > maxUnread:
		o.Say("you may not read %s and %d more kinds: what is broken among them is not known",
			strings.Join(unread[:maxUnread], ", "), n-maxUnread)
	case n > 0:
		o.Say("you may not read %s: what is broken among them is not known", strings.Join(unread, ", "))
	}
	return nil
}
