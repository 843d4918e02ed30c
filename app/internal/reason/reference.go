// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// Unresolved returns the reason of an Ingress that names a Service or an IngressClass that does not
// exist; it is empty for any other object. lacks reports whether the cluster surely has no object of a
// name.
func Unresolved(s *observation.State, lacks func(object.Name) bool) Reason {
	if s == nil || !kind.Ingress.Is(s.Kind) || !s.Deleting.IsZero() {
		return Reason{}
	}
	var names []object.Name
	for _, l := range s.Leaves {
		if l.Path == "spec.ingressClassName" && l.Shown != "" {
			class := kind.IngressClass.GroupKind()
			names = append(names, object.Name{Group: class.Group, Kind: class.Kind, Name: l.Shown})
		}
	}
	for _, rel := range s.Relations {
		if rel.Type == object.Backend {
			names = append(names, rel.To)
		}
	}
	for _, n := range names {
		if lacks(n) {
			what := n.Kind + " " + n.Name
			return Reason{
				Category: ReferenceMissing, Text: "names " + what + ", which does not exist", For: what,
			}
		}
	}
	return Reason{}
}
