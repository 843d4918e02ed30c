// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// trait changes a version.
type trait = func(*observation.State)

// version is an observation of the object with that UID, a ConfigMap of the same name unless a trait changes it.
func version(uid string, rv uint64, traits ...trait) *observation.Observation {
	st := &observation.State{ResourceVersion: rv, Created: epoch, ObservedGeneration: -1}
	st.Ref = object.Ref{Kind: kind.ConfigMap.Kind, Namespace: "default", Name: uid, UID: types.UID(uid)}
	for _, t := range traits {
		t(st)
	}
	return &observation.Observation{
		Seen: epoch.Add(time.Duration(rv) * time.Second), Source: observation.SourceWatch, State: st,
	}
}

// removal is an observation of the removal of the object of a version.
func removal(of *observation.Observation, rv uint64) *observation.Observation {
	return &observation.Observation{
		Seen: epoch.Add(time.Duration(rv) * time.Second), Source: observation.SourceWatch,
		Gone: &observation.Gone{Ref: of.State.Ref, ResourceVersion: rv},
	}
}

func named(name string) trait    { return func(st *observation.State) { st.Name = name } }
func in(namespace string) trait  { return func(st *observation.State) { st.Namespace = namespace } }
func ofKind(k *kind.Kind) trait  { return func(st *observation.State) { st.Kind = k.Kind } }
func node(st *observation.State) { ofKind(&kind.Node)(st); in("")(st) }
func on(node string) trait {
	return func(st *observation.State) { st.Pod = &observation.Pod{Node: node} }
}
func controlledBy(uid string) trait { return owned(uid, true) }
func plainlyOwned(uid string) trait { return owned(uid, false) }
func baseline(o *observation.Observation) *observation.Observation {
	o.Baseline, o.Listed = true, true
	return o
}

func owned(uid string, controller bool) trait {
	return func(st *observation.State) {
		st.Owners = append(st.Owners, object.Owner{
			Kind: kind.ConfigMap.Kind, Name: uid, UID: types.UID(uid), Controller: controller,
		})
	}
}

func refers(typ object.RelationType, to object.Name) trait {
	return func(st *observation.State) { st.Relations = append(st.Relations, object.Relation{Type: typ, To: to}) }
}

// ready is the readiness of a Node.
func ready(status string) trait {
	return func(st *observation.State) {
		st.Conditions = []observation.Condition{{Type: "Ready", Status: status}}
	}
}

// configMap is the name of a ConfigMap.
func configMap(name string) object.Name {
	return object.Name{Kind: "ConfigMap", Namespace: "default", Name: name}
}

// observe adds the observations.
func observe(x *Index, all ...*observation.Observation) {
	for _, o := range all {
		if o.State != nil {
			x.Put(x.Timeline(o.State.Ref), o, true, false)
		} else {
			x.PutGone(x.Timeline(o.Gone.Ref), o)
		}
	}
}

// uids returns the UIDs of the objects, in order.
func uids(all []*change.Timeline) []string {
	out := make([]string, 0, len(all))
	for _, t := range all {
		out = append(out, string(t.Ref.UID))
	}
	slices.Sort(out)
	return out
}

// outline returns all look-ups of an Index, in order.
func outline(x *Index) string {
	var lines []string
	add := func(what string, key any, all []*change.Timeline) {
		lines = append(lines, fmt.Sprintf("%s %v: %s", what, key, strings.Join(uids(all), " ")))
	}
	v := x.View()
	v.BySubject(Subject{})
	for _, uid := range slices.Sorted(maps.Keys(x.dependants)) {
		add("dependants", uid, v.Dependants(uid))
		add("claiming", uid, v.Claiming(uid))
	}
	for name, all := range x.relations.named {
		add("named", name, all)
	}
	for name, all := range x.relations.referrers {
		add("referrers", name, all)
	}
	for subject, all := range x.names {
		add("subject", subject, all)
	}
	for name := range x.nodes.newest {
		if n := v.Node(name); n != nil {
			lines = append(lines, fmt.Sprintf("node %s: %s at %d", name, n.UID, n.ResourceVersion))
		}
	}
	for uid, t := range x.objects {
		lines = append(lines, fmt.Sprintf("object %s: %d versions, removed %t, controller %v",
			uid, len(t.Versions), t.Removal != nil, v.Controller(t)))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
