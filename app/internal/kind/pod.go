// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// Pod is the kind Pod. Binding it to a node fills in the node's name
// and copies labels of the node.
var Pod = Kind{
	Kind:       object.Kind{Version: "v1", Kind: "Pod"},
	Resource:   "pods",
	Short:      "po",
	Controller: Kubelet,
	Owner:      true,
	Filled:     []string{"spec.nodeName", "metadata.labels[topology.kubernetes.io/"},
	// All other fields of a spec never change, apart from spec.nodeName. It is bookkeeping, and in
	// observation.Pod. Without it, the Pods of a ReplicaSet share one table of fields.
	Fields: []string{
		"spec.activeDeadlineSeconds",
		"spec.terminationGracePeriodSeconds",
		"spec.tolerations",
		"spec.schedulingGates",
		"spec.nodeSelector",
		"spec.resources",
		"spec.containers.image",
		"spec.containers.resources",
		"spec.initContainers.image",
		"spec.initContainers.resources",
		"spec.ephemeralContainers.image",
	},
	Shown: shownOfPods(""),
	Relations: []Relation{
		{object.Claim, "spec.volumes[].persistentVolumeClaim.claimName", &PersistentVolumeClaim},
		{object.Nominated, "status.nominatedNodeName", &Node},
	},
	Progress:   true,
	Attributes: "k8s.pod.",
}
