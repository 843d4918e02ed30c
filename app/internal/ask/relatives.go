// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/pipeline"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
)

// maxOwners bounds the chain of owners.
const maxOwners = 16

// seen holds the observations of a cluster at one time, and the states by object UID.
type seen struct {
	mu     sync.Mutex
	all    []*observation.Observation
	states map[types.UID]*observation.State
}

func (s *seen) add(o *observation.Observation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, o)
	if o.State != nil {
		s.states[o.State.UID] = o.State
	}
}

// complete completes the messages: all objects are known.
func (s *seen) complete() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.all {
		if o.Later != nil {
			o.Later()
			o.Later = nil
		}
	}
}

// find returns a state that matches is, or nil.
func (s *seen) find(is func(*observation.State) bool) *observation.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, state := range s.states {
		if is(state) {
			return state
		}
	}
	return nil
}

// relatives reads the target, its owners, its dependants and all their Events.
func (t *Trace) relatives(ctx context.Context, p *pipeline.Pipeline, target cli.Target) (*family, error) {
	s := &seen{states: map[types.UID]*observation.State{}}
	cfg := rest.CopyConfig(t.Kubeconfig.Current())
	cfg.UserAgent = t.UserAgent()
	conf := p.WatchConfig(cfg, s.add)
	conf.Incomplete = true
	w, err := watch.New(conf)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	namespace := target.Ref(t.Namespace).Namespace
	read := func(gvr schema.GroupVersionResource, namespace string) error {
		w.Follow(ctx, gvr, namespace, 0)
		return w.Synced(ctx)
	}
	if err := read(target.Resource, namespace); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", t.where(target), err)
	}
	f := &family{seen: s, read: map[schema.GroupKind]bool{}, lacking: map[string]bool{}}
	for _, k := range beside[target.Kind] {
		where := namespace
		if k.ClusterScoped {
			where = ""
		}
		// Without the right to read them, there is no reason by them.
		if f.read[k.GroupKind()], err = w.Look(ctx, k.GroupVersionResource(), where, ""); err != nil {
			return nil, fmt.Errorf("cannot read %s beside %s: %w", k.Resource, t.where(target), err)
		}
	}
	at := s.find(func(o *observation.State) bool {
		return o.Is(target.Kind.Group, target.Kind.Kind) && o.Name == target.Name && o.Namespace == namespace
	})
	if at == nil {
		return nil, fmt.Errorf("there is no %s, as far as you may read", t.where(target))
	}
	up := []types.UID{at.UID}
	for range maxOwners {
		owner := object.ControllerOf(at.Owners)
		if owner == nil {
			break
		}
		if at = s.find(func(o *observation.State) bool { return o.UID == owner.UID }); at == nil {
			gvr, namespaced, err := t.resource(owner.Kind)
			if err != nil {
				p.Say("cannot read %s %s, which owns it: %s", cli.Shown(
					owner.Kind.String(),
				), cli.Shown(owner.Name), cli.Shown(err.Error()))
				break
			}
			above := namespace
			if !namespaced {
				above = ""
			}
			if err := read(gvr, above); err != nil {
				return nil, fmt.Errorf(
					"cannot read %s %s, which owns it: %w", cli.Shown(owner.Kind.String()), cli.Shown(owner.Name), err,
				)
			}
			at = s.find(func(o *observation.State) bool { return o.UID == owner.UID })
		}
		if at == nil || slices.Contains(up, at.UID) {
			break
		}
		up = append(up, at.UID)
	}
	f.target, f.up = up[0], up
	if kind.CustomResourceDefinition.GroupKind() == target.Kind && !s.states[up[0]].Deleting.IsZero() {
		t.instances(ctx, w, f, target.Name)
	}
	for _, name := range f.places() {
		// A Pod may wait for its Node. Without the right to read it, nothing is known of it.
		readable, _ := w.Look(ctx, kind.Node.GroupVersionResource(), "", name)
		f.lacking[name] = readable && s.find(func(o *observation.State) bool {
			return kind.Node.Is(o.Kind) && o.Name == name
		}) == nil
	}
	for i, claim := range slices.SortedFunc(maps.Keys(f.claims()), byName) { // nor of the claims of a Pod
		if i == maxPlaces {
			break
		}
		_, _ = w.Look(ctx, kind.PersistentVolumeClaim.GroupVersionResource(), claim.Namespace, claim.Name)
	}
	w.Close()
	s.complete()
	return f, nil
}

// instances reads the objects of a kind that is being deleted. Without the right to read them, nothing is known of
// them.
func (t *Trace) instances(ctx context.Context, w *watch.Watcher, f *family, definition string) {
	of, err := t.Mapped(definition, "")
	if err != nil {
		return
	}
	if readable, _ := w.Look(ctx, of.Resource, "", ""); !readable {
		return
	}
	f.defined = &of.Kind
}

// claims returns the names of the claims of the Pods without a Node.
func (f *family) claims() map[object.Name]bool {
	members := f.members()
	names := map[object.Name]bool{}
	for uid, s := range f.seen.states {
		if !members[uid] || s.Pod == nil || s.Pod.Node != "" {
			continue
		}
		for _, r := range s.Relations {
			if r.Type == object.Claim {
				names[r.To] = true
			}
		}
	}
	return names
}

// pods returns the names of all Pods that were read, by UID.
func (f *family) pods() map[types.UID]string {
	names := map[types.UID]string{}
	for uid, s := range f.seen.states {
		if s.Pod != nil {
			names[uid] = s.Name
		}
	}
	return names
}

func byName(a, b object.Name) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// maxPlaces is the number of Nodes, and that of claims, that are read for the Pods of an object.
const maxPlaces = 10

// places returns the names of the Nodes of the Pods that are not ready, at most maxPlaces.
func (f *family) places() []string {
	members := f.members()
	names := map[string]bool{}
	for uid, s := range f.seen.states {
		if members[uid] && s.Pod != nil && unready(s) {
			names[s.Pod.Node] = true
		}
	}
	all := slices.Sorted(maps.Keys(names))
	return all[:min(len(all), maxPlaces)]
}

// beside are the kinds of the objects that show whether an object of a kind works.
var beside = map[schema.GroupKind][]*kind.Kind{
	kind.Service.GroupKind(): {
		&kind.EndpointSlice, &kind.Deployment, &kind.StatefulSet, &kind.DaemonSet, &kind.ReplicaSet,
	},
	kind.Ingress.GroupKind():               {&kind.Service, &kind.IngressClass},
	kind.PersistentVolumeClaim.GroupKind(): {&kind.Pod},
}

// unready reports whether s is a Pod on a Node, or a Node, that is not ready.
func unready(s *observation.State) bool {
	if s.Node == nil && (s.Pod == nil || s.Pod.Node == "" || s.Pod.Phase == "Succeeded" || s.Pod.Phase == "Failed") {
		return false
	}
	c := s.Condition("Ready")
	return c == nil || c.Status != "True"
}

// resource returns the API resource of a kind.
func (t *Trace) resource(kind object.Kind) (gvr schema.GroupVersionResource, namespaced bool, err error) {
	target, err := t.Mapped(schema.GroupKind{Group: kind.Group, Kind: kind.Kind}.String(), "")
	return target.Resource, target.Namespaced, err
}

// family is an object, its owners and all observations.
type family struct {
	target types.UID
	// up are the target and its owners, upwards.
	up   []types.UID
	seen *seen
	// read are the kinds whose objects beside the target were read.
	read map[schema.GroupKind]bool
	// defined is the kind that the target defines, if its objects were read.
	defined *schema.GroupKind
	// lacking are the names of Pods' Nodes that do not exist.
	lacking map[string]bool
}

// Of implements reason.Beside.
func (f *family) Of(k *kind.Kind) []*observation.State {
	return slices.DeleteFunc(f.all(k.GroupKind()), func(s *observation.State) bool {
		return s.Namespace != f.seen.states[f.target].Namespace
	})
}

// all returns the objects of the kind that were read, ordered by name.
func (f *family) all(of schema.GroupKind) []*observation.State {
	var out []*observation.State
	for _, s := range f.seen.states {
		if s.Is(of.Group, of.Kind) {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b *observation.State) int {
		return byName(object.NameOf(&a.Ref), object.NameOf(&b.Ref))
	})
	return out
}

// Lacks implements reason.Beside. It reports whether objects of the kind of n were read, and none has its name.
func (f *family) Lacks(n object.Name) bool {
	return f.read[schema.GroupKind{Group: n.Group, Kind: n.Kind}] && f.seen.find(func(s *observation.State) bool {
		return s.Is(n.Group, n.Kind) && s.Name == n.Name && s.Namespace == n.Namespace
	}) == nil
}

// members returns the target, its owners and its direct and indirect dependants.
func (f *family) members() map[types.UID]bool {
	below := map[types.UID]bool{f.target: true}
	for grown := true; grown; {
		grown = false
		for uid, state := range f.seen.states {
			if !below[uid] && slices.ContainsFunc(state.Owners, func(o object.Owner) bool { return below[o.UID] }) {
				below[uid], grown = true, true
			}
		}
	}
	for _, uid := range f.up {
		below[uid] = true
	}
	return below
}

// observations returns the observations of the members, of the claims of their Pods and of the Pods that use the
// target, of their Events, and of the Nodes that are not ready.
func (f *family) observations() []*observation.Observation {
	members, claims, target := f.members(), f.claims(), f.seen.states[f.target]
	for uid, s := range f.seen.states {
		uses := object.Relation{Type: object.Claim, To: object.NameOf(&target.Ref)}
		if claims[object.NameOf(&s.Ref)] || s.Pod != nil && slices.Contains(s.Relations, uses) {
			members[uid] = true
		}
	}
	var out []*observation.Observation
	for _, o := range f.seen.all {
		switch {
		case o.State != nil && (members[o.State.UID] || o.State.Node != nil && unready(o.State)),
			o.Gone != nil && members[o.Gone.UID],
			o.Event != nil && members[o.Event.Regarding.UID]:
			out = append(out, o)
		}
	}
	return out
}
