// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// Relations returns the relations of t to other objects. A deleted object keeps those of its newest
// version. A Pod also keeps the Node of its nomination, and an evicted Pod refers to its Node. An owner
// of refused objects refers to the quota, or to the LimitRanges. An object refers to the related objects of
// its Events. The keys of t as a cause are names of t, and no relations (see Names).
//
// fresh is the only version since the relations of t were stored; nil if that is not certain.
func Relations(t *Timeline, fresh *history.Version) []object.Relation {
	v := t.Last()
	if v == nil {
		return nil
	}
	all := v.Relations
	if slices.ContainsFunc(all, isCause) {
		all = slices.DeleteFunc(slices.Clone(all), isCause)
	}
	all = reported(t, all)
	if v.Pod == nil {
		if fresh != nil && failure(fresh) == "" && len(t.Versions) > 1 {
			return refusedBefore(t, all)
		}
		return refusals(t, all)
	}
	if node := v.Pod.Node; node != "" && Disruption(v) != "" {
		all = append(slices.Clip(all), object.Relation{Type: object.Evicted, To: NodeName(node)})
		if Disruption(v) == Preempted {
			all = append(all, object.Relation{Type: object.Evicted, To: Nomination(node)})
		}
	}
	return all
}

// Related returns the name in the first relation of a type in the newest version of t, and whether there is
// one.
func Related(t *Timeline, typ object.RelationType) (object.Name, bool) {
	if v := t.Last(); v != nil {
		for i := range v.Relations {
			if v.Relations[i].Type == typ {
				return v.Relations[i].To, true
			}
		}
	}
	return object.Name{}, false
}

func isCause(r object.Relation) bool { return r.Type == object.Cause }

// ReadsConfig reports whether the Pod template of t refers to a ConfigMap or Secret.
func ReadsConfig(t *Timeline) bool {
	v := t.Last()
	return v != nil && slices.ContainsFunc(v.Relations, func(r object.Relation) bool { return r.Type == object.Config })
}

// The reasons for the disruption of a Pod, of its condition DisruptionTarget.
const (
	// Evicted is a request to the eviction API, as in a drain.
	Evicted = "EvictionByEvictionAPI"
	// Tainted is an eviction by a taint of the Node.
	Tainted = "DeletionByTaintManager"
	// Collected is a removal after the Node of the Pod.
	Collected = "DeletionByPodGC"
	// Preempted is a preemption in favour of another Pod.
	Preempted = "PreemptionByScheduler"
)

// Disruption returns the reason for the disruption of the Pod v, or "".
func Disruption(v *history.Version) string {
	if c := v.Condition("DisruptionTarget"); v.Pod != nil && c != nil && c.Status == "True" {
		return c.Reason
	}
	return ""
}

// Names returns the names by which other objects may refer to t. Kinds with very many objects are
// left out. A Pod with a nomination has the name of the nomination. The names of its keys in the
// relations of the configuration come last.
func Names(t *Timeline) []object.Name {
	var keys []object.Name
	if v := t.Last(); v != nil {
		for i := range v.Relations {
			if isCause(v.Relations[i]) {
				keys = append(keys, v.Relations[i].To)
			}
		}
	}
	if n := len(t.Names()); n > 0 && len(keys) == 0 {
		if _, declared := t.Names()[n-1].Declared(); !declared && !kind.Pod.Is(t.Ref.Kind) {
			return t.Names()
		}
	}
	return append(ownNames(t), keys...)
}

// ownNames returns the names of t without keys.
func ownNames(t *Timeline) []object.Name {
	switch {
	case t.Ref.Name == "":
		return nil
	case kind.Pod.Is(t.Ref.Kind):
		for _, v := range slices.Backward(t.Versions) { // a nomination ends when the Pod is bound
			if node := Nominated(v); node != "" {
				return []object.Name{Nomination(node)}
			}
		}
		return nil
	case len(t.Kind().Fields) > 0:
		return nil
	}
	all := []object.Name{object.NameOf(&t.Ref)}
	if release, _, ok := kind.Release(t.Ref.Kind, t.Ref.Name); ok {
		return append(all, kind.ReleaseName(t.Ref.Namespace, release), kind.AnyRelease(t.Ref.Namespace))
	}
	if kind.LimitRange.Is(t.Ref.Kind) {
		return append(all, LimitRanges(t.Ref.Namespace))
	}
	if kind.IsApplication(t.Ref.Kind) {
		return append(all, kind.ApplicationName(t.Ref.Name))
	}
	if kind.PersistentVolumeClaim.Is(t.Ref.Kind) {
		if pattern, ok := kind.ClaimPattern(all[0]); ok {
			all = append(all, pattern)
		}
	}
	return all
}

// Nominated returns the Node for which the Pod v is nominated, or "".
func Nominated(v *history.Version) string {
	for _, r := range v.Relations {
		if r.Type == object.Nominated {
			return r.To.Name
		}
	}
	return ""
}

// PlacedOn returns the Node for which a DaemonSet made the Pod of t, or "".
func PlacedOn(t *Timeline) string {
	to, _ := Related(t, object.Placed)
	return to.Name
}

// NodeName returns the name of a Node.
func NodeName(name string) object.Name { return object.Name{Kind: kind.Node.Kind.Kind, Name: name} }

// Nomination returns the name of the Pods nominated for a Node: the scheduler preempts other Pods
// there in their favour.
func Nomination(node string) object.Name { return object.Name{Kind: "Nomination", Name: node} }
