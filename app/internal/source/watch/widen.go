// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// Resources that the package treats specially.
var (
	pods   = kind.Pod.GroupVersionResource()
	nodes  = kind.Node.GroupVersionResource()
	claims = kind.PersistentVolumeClaim.GroupVersionResource()
)

// builtInGroups are the API groups of Kubernetes itself. The effects of their kinds are known. A
// write to any other kind may affect every resource.
var builtInGroups = []string{
	"", "apps", "batch", "autoscaling", "policy", "extensions",
	"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io",
	"certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io",
	"flowcontrol.apiserver.k8s.io", "internal.apiserver.k8s.io", "networking.k8s.io",
	"node.k8s.io", "rbac.authorization.k8s.io", "resource.k8s.io", "scheduling.k8s.io",
	"storage.k8s.io", "storagemigration.k8s.io",
}

// mayCauseAnything reports whether the effects of a write to gr are unknown.
func mayCauseAnything(gr schema.GroupResource) bool {
	return !slices.Contains(builtInGroups, gr.Group)
}

// mayHoldEffect reports whether r may hold an effect of a kind with unknown effects. For a cause in
// a namespace, it holds for every namespaced resource. For a cluster-scoped cause, it holds for
// cluster-scoped custom resources.
func mayHoldEffect(r resource, namespace string) bool {
	if r.GroupResource() == events.GroupResource() || r.GroupResource() == coreEvents.GroupResource() {
		return false // watched anyway
	}
	if namespace != "" {
		return r.namespaced
	}
	return !r.namespaced && mayCauseAnything(r.GroupResource())
}

// maxNamedNodes is the number of Nodes watched by name. Above it, all Nodes are watched.
const maxNamedNodes = 50

func groupKind(k object.Kind) schema.GroupKind {
	return schema.GroupKind{Group: k.Group, Kind: k.Kind}
}
