// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// nodeTaint is the beginning of the path of a taint of Kubernetes itself.
const nodeTaint = "spec.taints[key=node.kubernetes.io/"

// LossTaints are the paths of the taints that the node lifecycle controller puts on a Node without a
// working kubelet. They evict Pods.
var LossTaints = []string{
	nodeTaint + "unreachable,effect=NoExecute].key",
	nodeTaint + "not-ready,effect=NoExecute].key",
}

// Node is the kind Node. Its cloud and its controllers fill in addresses,
// its provider's ID, and the taints that follow its conditions and evict no Pods.
var Node = Kind{
	Kind:          object.Kind{Version: "v1", Kind: "Node"},
	Recalled:      true,
	Resource:      "nodes",
	Short:         "no",
	ClusterScoped: true,
	Controller:    Kubelet,
	Owner:         true,
	Immediate:     true,
	Filled: []string{
		"spec.podCIDR", "spec.podCIDRs", "spec.providerID",
		nodeTaint + "unreachable,effect=NoSchedule", nodeTaint + "not-ready,effect=NoSchedule",
		nodeTaint + "unschedulable", nodeTaint + "memory-pressure", nodeTaint + "disk-pressure",
		nodeTaint + "pid-pressure", nodeTaint + "network-unavailable",
	},
	Shown:      []string{"spec.unschedulable", "spec.taints.key", "spec.taints.effect"},
	Attributes: "k8s.node.",
}
