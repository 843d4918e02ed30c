// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// Built-in resources at the end of an edge.
var (
	pods        = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	claims      = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	replicaSets = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}
	revisions   = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "controllerrevisions"}
	jobs        = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
)

// effects names the resources that may hold the effects of a write to a built-in resource. They are
// in the same namespace as the cause.
var effects = map[schema.GroupResource][]schema.GroupVersionResource{
	{Group: "apps", Resource: "deployments"}:                     {replicaSets, pods},
	{Group: "apps", Resource: "replicasets"}:                     {pods},
	{Group: "apps", Resource: "statefulsets"}:                    {pods, claims, revisions},
	{Group: "apps", Resource: "daemonsets"}:                      {pods, revisions},
	{Resource: "replicationcontrollers"}:                         {pods},
	{Group: "batch", Resource: "jobs"}:                           {pods},
	{Group: "batch", Resource: "cronjobs"}:                       {jobs, pods},
	{Group: "autoscaling", Resource: "horizontalpodautoscalers"}: {deployments, replicaSets, pods},
}

// builtInOwners maps built-in owner kinds to their resources, so that following them needs no
// discovery.
var builtInOwners = map[schema.GroupKind]resource{
	{Group: "apps", Kind: "Deployment"}: {deployments, "Deployment", true},
	{Group: "apps", Kind: "ReplicaSet"}: {replicaSets, "ReplicaSet", true},
	{Group: "apps", Kind: "StatefulSet"}: {
		schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}, "StatefulSet", true,
	},
	{Group: "apps", Kind: "DaemonSet"}: {
		schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "daemonsets"}, "DaemonSet", true,
	},
	{Group: "batch", Kind: "Job"}: {jobs, "Job", true},
	{Group: "batch", Kind: "CronJob"}: {
		schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "cronjobs"}, "CronJob", true,
	},
	{Kind: "Pod"}:  {pods, "Pod", true},
	{Kind: "Node"}: {nodes, "Node", false},
}

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
