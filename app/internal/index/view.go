// SPDX-License-Identifier: Apache-2.0

package index

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// View reads an Index. It shows each later change, too.
type View struct{ x *Index }

// View returns a View of x.
func (x *Index) View() View { return View{x} }

// Object returns the object of that UID, or nil.
func (v View) Object(uid types.UID) *change.Timeline { return v.x.objects[uid] }

// Owns reports whether o, an ownerReference of t, is possible: an owner is in the same namespace,
// or in none. An author of t could write any UID.
func (v View) Owns(o object.Owner, t *change.Timeline) bool {
	up := v.Object(o.UID)
	return up == nil || mayOwn(up, t)
}

// mayOwn reports whether the object of up may be an owner of the object of t.
func mayOwn(up, t *change.Timeline) bool {
	return up.Ref.Namespace == "" || up.Ref.Namespace == t.Ref.Namespace
}

// Dependants returns the objects with a possible ownerReference to the object (see Owns).
func (v View) Dependants(uid types.UID) []*change.Timeline {
	all, up := v.x.dependants[uid], v.Object(uid)
	strange := func(t *change.Timeline) bool { return t.Ref.Namespace != up.Ref.Namespace }
	if up == nil || up.Ref.Namespace == "" || !slices.ContainsFunc(all, strange) {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), strange)
}

// Controller returns the controller owner of t, or nil.
func (v View) Controller(t *change.Timeline) *object.Owner {
	if o := object.ControllerOf(t.Owners()); o != nil && v.Owns(*o, t) {
		return o
	}
	return nil
}

// Above returns the timeline of the controller owner of t, or nil.
func (v View) Above(t *change.Timeline) *change.Timeline {
	o := object.ControllerOf(t.Owners())
	if o == nil {
		return nil
	}
	up := v.Object(o.UID)
	if up == nil || !mayOwn(up, t) {
		return nil
	}
	return up
}

// Claiming returns the objects with an ownerReference to the object, also an impossible one (see Owns).
func (v View) Claiming(owner types.UID) []*change.Timeline { return v.x.dependants[owner] }

// Named returns the objects with that name.
func (v View) Named(name object.Name) []*change.Timeline { return v.x.relations.named[name] }

// Budgets returns the names of the PodDisruptionBudgets in a namespace, sorted. It looks at all objects.
func (v View) Budgets(namespace string) []string {
	var out []string
	for _, t := range v.x.objects {
		if kind.PodDisruptionBudget.Is(t.Ref.Kind) && t.Ref.Namespace == namespace && t.Removal == nil && t.Last() != nil {
			out = append(out, t.Ref.Name)
		}
	}
	slices.Sort(out)
	return out
}

// Referrers returns the objects with a relation to that name.
func (v View) Referrers(name object.Name) []*change.Timeline { return v.x.relations.referrers[name] }

// Refused returns the requests without an object. The caller must not change the map.
func (v View) Refused() map[string]*observation.Write { return v.x.refused }

// NodeAttributes returns the attributes of the Node of that name for the spans of its Pods, or nil.
func (v View) NodeAttributes(node string) *observation.Node { return v.x.attributes[node] }

// Node returns the newest version of the Node of that name, or nil.
func (v View) Node(name string) *history.Version {
	if n := v.x.nodes.newest[name]; n != nil && n.timeline.Removal == nil {
		return n.timeline.Last()
	}
	return nil
}

// LacksNode reports whether the cluster surely has no Node of that name: others are known, or it was searched for (see
// LackNodes).
func (v View) LacksNode(name string) bool {
	if lacking := v.x.nodes.lacking; lacking != nil {
		return lacking[name]
	}
	return v.Node(name) == nil && len(v.x.nodes.newest) > 0
}

// PodName returns the name of the Pod with that UID, or "".
func (v View) PodName(uid types.UID) string {
	if t := v.Object(uid); t != nil && t.Ref.Name != "" {
		return t.Ref.Name
	}
	return v.x.otherPods[uid]
}
