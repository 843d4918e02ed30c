// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"reflect"
	"time"

	"go.opentelemetry.io/otel/trace"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-lifeline/lifeline"
)

// old is the minimum age of a context, at the creation of its object, that marks it as restored
// from a saved version (P4).
const old = time.Hour

// Link reasons, in the attribute lifeline.link.
const (
	linkObject     = "object"     // link mode: the object's context
	linkHealing    = "healing"    // the object had converged
	linkDeletion   = "deletion"   // the object is being deleted
	linkStale      = "stale"      // made for another object, or long ago
	linkSuperseded = "superseded" // made for an earlier desired state
	linkTrigger    = "trigger"    // a further trigger of the same reconcile
	linkEpisode    = "episode"    // link mode: the reconcile that began the work
)

// identity returns the lifeline.Identity of obj.
func identity(gvk schema.GroupVersionKind, obj metav1.Object) lifeline.Identity {
	return lifeline.Identity{
		Group: gvk.Group, Kind: gvk.Kind, Namespace: obj.GetNamespace(),
		Name: obj.GetName(), GenerateName: obj.GetGenerateName(), UID: string(obj.GetUID()),
	}
}

// read returns the context of obj, and why the context does not match the current desired state (""
// if it does). A context is only a hint (P4).
func read(gvk schema.GroupVersionKind, obj client.Object) (trace.SpanContext, string) {
	sc := lifeline.Extract(obj)
	if !sc.IsValid() {
		return sc, ""
	}
	claim, holds := lifeline.ClaimOf(sc)
	if !holds {
		return sc, ""
	}
	id := identity(gvk, obj)
	byUID := claim.Object == id.Hash()
	switch {
	case claim.Object != 0 && !claim.Names(id) && !namesOwner(claim, obj):
		return sc, linkStale
	case !byUID && !claim.Time.IsZero() && obj.GetCreationTimestamp().Sub(claim.Time) > old:
		return sc, linkStale
	case claim.Generation > 0 && claim.Generation < obj.GetGeneration() && generationIsOfSpec(obj):
		return sc, linkSuperseded
	}
	return sc, ""
}

// namesOwner reports whether a claim was made for the controller owner. In that case the owner's
// annotations were copied to obj.
func namesOwner(claim lifeline.Claim, obj metav1.Object) bool {
	ref := metav1.GetControllerOfNoCopy(obj)
	if ref == nil {
		return false
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return false
	}
	id := lifeline.Identity{
		Group:     gv.Group,
		Kind:      ref.Kind,
		Namespace: obj.GetNamespace(),
		Name:      ref.Name,
		UID:       string(ref.UID),
	}
	cluster := id
	cluster.Namespace = ""
	return claim.Names(id) || claim.Names(cluster)
}

// generationIsOfSpec reports whether the generation changes only with the desired state. Without a
// status subresource, status writes also change it.
func generationIsOfSpec(obj client.Object) bool {
	for _, m := range obj.GetManagedFields() {
		if m.Subresource == "status" {
			return true
		}
	}
	s, ok := statusOf(reflect.ValueOf(obj))
	if !ok {
		s = parsedStatus(stateOf(obj))
	}
	return s.observed != 0
}
