// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// relative is an object to which others relate by name.
type relative struct {
	kind *kind.Kind
	name string
}

// relate notes r if other objects relate to its object by name: to a Namespace by its name, to a
// CustomResourceDefinition by its API group.
func (d *derivation) relate(r *reconciliation) {
	switch ref := &r.t.ref; {
	case kind.Namespace.Is(ref.Kind):
		d.relatives[relative{&kind.Namespace, ref.Name}] = r
	case kind.CustomResourceDefinition.Is(ref.Kind):
		d.relatives[relative{&kind.CustomResourceDefinition, groupOf(ref.Name)}] = r
	}
}

// groupOf returns the API group in a name like "widgets.example.com" or "v1.example.com".
func groupOf(name string) string {
	_, group, _ := strings.Cut(name, ".")
	return group
}

// byRelation is rule C4, as far as a relation names the object: the API server registers the API of a
// CustomResourceDefinition.
func (d *derivation) byRelation(w *write) (cause, bool) {
	if !registersAPI(w) {
		return cause{}, false
	}
	r := d.relatives[relative{&kind.CustomResourceDefinition, groupOf(w.t.ref.Name)}]
	if r == nil || !d.alive(r.line, w) {
		return cause{}, false
	}
	return cause{line: r.line, parent: r, evidence: span.ByRelation}, true
}

// registersAPI reports whether w may follow from a change of a CustomResourceDefinition.
func registersAPI(w *write) bool {
	return kind.APIService.Is(w.t.ref.Kind) && (w.manager == kind.APIServer || w.verb == deleted)
}

// relationLags reports whether the watch may be behind of an object to which r relates: the
// CustomResourceDefinition of an API, or the Namespace that takes a deleted object with it.
func (d *derivation) relationLags(r *reconciliation, now time.Time) bool {
	w := r.first()
	switch {
	case r.parent != nil:
		return false
	case registersAPI(w):
		return now.Sub(r.heard()) <= maxLag
	case w.verb == deleted && w.t.ref.Namespace != "" && w.req == nil && d.audited(w) == nil:
		return now.Sub(r.heard()) <= maxNamespaceLag
	}
	return false
}

// maxNamespaceLag is the time that the trace of a deletion by somebody unknown waits for the deletion
// of its Namespace. It is short, since most such objects are deleted alone.
const maxNamespaceLag = 10 * time.Second

// endingNamespace returns the deletion of the object's Namespace, or nil. It takes all that is in the
// Namespace.
func (d *derivation) endingNamespace(w *write) *reconciliation {
	if r := d.namespaceOf(w); r != nil && r.verb == deleted {
		return r
	}
	return nil
}

// namespaceDefault returns the creation of the Namespace for an object that
// kube-controller-manager puts into each Namespace, or nil.
func (d *derivation) namespaceDefault(w *write) *reconciliation {
	if !w.isDefault() && (w.verb != created || w.manager != manager) {
		return nil
	}
	if r := d.namespaceOf(w); r != nil && r.verb == created && d.alive(r.line, w) {
		return r
	}
	return nil
}

// isDefault reports whether w makes an object that is in each Namespace. It may have no field manager.
func (w *write) isDefault() bool {
	name := kind.Of(w.t.ref.Group, w.t.ref.Kind.Kind).Default
	return w.verb == created && name != "" && name == w.t.ref.Name && (w.manager == "" || w.manager == manager)
}

func (d *derivation) namespaceOf(w *write) *reconciliation {
	if w.t.ref.Namespace == "" {
		return nil
	}
	return d.relatives[relative{&kind.Namespace, w.t.ref.Namespace}]
}
