// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// Node is the kind Node. Its cloud and its controllers fill in addresses,
// its provider's ID, and the taints that follow its conditions.
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
		"spec.podCIDR", "spec.podCIDRs", "spec.providerID", "spec.taints[key=node.kubernetes.io/",
	},
	Attributes: "k8s.node.",
}
