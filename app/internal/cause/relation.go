// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"slices"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// relative is the key of an object with relations by name.
type relative struct {
	kind *kind.Kind
	name string
}

// Relate records r if other objects have a relation by name to its object: to a Namespace by its
// name, or to a CustomResourceDefinition by its API group. Pods that wait for a new claim get a link.
func Relate(s *Scene, r *change.Reconciliation) {
	switch ref := &r.Timeline.Ref; {
	case kind.Namespace.Is(ref.Kind):
		put(&s.relatives, relative{&kind.Namespace, ref.Name}, r)
	case kind.CustomResourceDefinition.Is(ref.Kind):
		put(&s.relatives, relative{&kind.CustomResourceDefinition, GroupOf(ref.Name)}, r)
	case kind.PersistentVolumeClaim.Is(ref.Kind) && r.Verb == history.Created:
		awaited(s, r)
	}
}

// GroupOf returns the API group in a name like "widgets.example.com" or "v1.example.com".
func GroupOf(name string) string {
	_, group, _ := strings.Cut(name, ".")
	return group
}

// definitions returns the newest changed CustomResourceDefinition with the API of w.
func definitions(s *Scene, w *change.Write) []*change.Timeline {
	r := s.relatives[relative{&kind.CustomResourceDefinition, GroupOf(w.Timeline.Ref.Name)}]
	if r == nil {
		return nil
	}
	return []*change.Timeline{r.Timeline}
}

func registersAPI(_ *Scene, w *change.Write) bool { return RegistersAPI(w) }

// RegistersAPI reports whether w may follow from a change of a CustomResourceDefinition.
func RegistersAPI(w *change.Write) bool {
	return kind.APIService.Is(w.Timeline.Ref.Kind) && (w.Manager == kind.APIServer || w.Verb == history.Deleted)
}

// endingNamespace returns the deletion of the object's Namespace, or nil. It removes all contents
// of the Namespace.
func endingNamespace(s *Scene, w *change.Write) *change.Reconciliation {
	if r := namespaceOf(s, w); r != nil && r.Verb == history.Deleted {
		return r
	}
	return nil
}

// NamespaceDefault returns the creation of the object's Namespace, for a default object of
// kube-controller-manager in each Namespace. Otherwise it returns nil.
func NamespaceDefault(s *Scene, w *change.Write) *change.Reconciliation {
	if !w.IsDefault() && (w.Verb != history.Created || w.Manager != change.Manager) {
		return nil
	}
	if r := namespaceOf(s, w); r != nil && r.Verb == history.Created && StillOpen(s, r.Lineage, w) {
		return r
	}
	return nil
}

// namespaceOf returns the newest reconciliation of the object's Namespace, or nil.
func namespaceOf(s *Scene, w *change.Write) *change.Reconciliation {
	if w.Timeline.Ref.Namespace == "" {
		return nil
	}
	return s.relatives[relative{&kind.Namespace, w.Timeline.Ref.Namespace}]
}

// AwaitsRelated reports whether w is a controller's work for a named object without an observation from
// after w. The watch of that object may be delayed.
func AwaitsRelated(s *Scene, w *change.Write) bool {
	if w.Verb != history.Created && w.Verb != history.Updated {
		return false
	}
	late := func(x relation) bool { return x.waits && x.has(s, w) && !after(w, x.causes(s, w)) }
	return slices.ContainsFunc(relations[:], late) || unknownNode(s, w) ||
		scales(s, w) && !after(w, s.Known.Referrers(object.NameOf(&w.Timeline.Ref))) ||
		awaitsDeclared(s, w) || delivers(s, w) || awaitsPlainOwner(s, w) || awaitsAdopter(s, w)
}

// after reports whether one of the objects has an observation from after w.
func after(w *change.Write, objects []*change.Timeline) bool {
	return slices.ContainsFunc(objects, func(t *change.Timeline) bool {
		return t.Removal != nil || t.Last() != nil && t.Last().ResourceVersion > w.RV
	})
}
