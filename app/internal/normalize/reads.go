// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"slices"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// podReads are the references to ConfigMaps in a Pod, and templateReads those in the Pod template of a workload.
var podReads, templateReads = kind.ConfigMapsOf(""), kind.ConfigMapsOf("spec.template")

// reads returns the ConfigMaps that the object of s reads, and whether it reads no others. Those of a workload are
// among its relations. A Pod or a ReplicaSet has them in its own fields, and needs them only without such a workload
// above.
func reads(s *observation.State, obj fields) (out []object.Name, complete bool) {
	add := func(to object.Name) {
		if !slices.Contains(out, to) {
			out = append(out, to)
		}
	}
	for _, r := range s.Relations {
		if r.Type == object.Config && r.To.Kind == kind.ConfigMap.Kind.Kind {
			add(r.To)
		}
	}
	var own []kind.Relation
	switch up := object.ControllerOf(s.Owners); {
	case up != nil && kind.BuiltIn(up.Group):
	case kind.Pod.Is(s.Kind):
		own = podReads
	case kind.ReplicaSet.Is(s.Kind), kind.ReplicationController.Is(s.Kind):
		own = templateReads
	}
	for _, r := range own {
		walkPath(obj, r.Path, func(v any) {
			if to, ok := name(v, r.To, &s.Ref); ok {
				add(to)
			}
		})
	}
	return out, len(s.Relations) < maxRelations
}
