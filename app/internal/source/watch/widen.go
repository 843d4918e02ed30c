// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// Resources that are watched in ways of their own.
var (
	pods  = kind.Pod.GroupVersionResource()
	nodes = kind.Node.GroupVersionResource()
)

// builtInGroups are the API groups of Kubernetes itself: what their kinds cause
// is known. Of any other kind it is not, so everything must be looked at.
var builtInGroups = []string{
	"", "apps", "batch", "autoscaling", "policy", "extensions",
	"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io",
	"certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io",
	"flowcontrol.apiserver.k8s.io", "internal.apiserver.k8s.io", "networking.k8s.io",
	"node.k8s.io", "rbac.authorization.k8s.io", "resource.k8s.io", "scheduling.k8s.io",
	"storage.k8s.io", "storagemigration.k8s.io",
}

// mayCauseAnything reports whether what a write to gr causes is unknown.
func mayCauseAnything(gr schema.GroupResource) bool {
	return !slices.Contains(builtInGroups, gr.Group)
}

// mayHoldEffect reports whether r may hold what a kind of unknown effects
// causes: anything namespaced, if the cause is in a namespace; else the other
// custom kinds of cluster scope.
func mayHoldEffect(r resource, namespace string) bool {
	if r.GroupResource() == events.GroupResource() || r.GroupResource() == coreEvents.GroupResource() {
		return false // watched anyway
	}
	if namespace != "" {
		return r.namespaced
	}
	return !r.namespaced && mayCauseAnything(r.GroupResource())
}

// maxNamedNodes is how many Nodes are watched by name before all are.
const maxNamedNodes = 50

func groupKind(k object.Kind) schema.GroupKind {
	return schema.GroupKind{Group: k.Group, Kind: k.Kind}
}
