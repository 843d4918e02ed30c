// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// Pod is the kind Pod. Binding it to a node fills in the node's name
// and copies labels of the node.
var Pod = Kind{
	Kind:         object.Kind{Version: "v1", Kind: "Pod"},
	Resource:     "pods",
	Short:        "po",
	Controller:   Kubelet,
	Owner:        true,
	Filled:       map[string][]string{"spec": {"nodeName"}},
	FilledLabels: "topology.kubernetes.io/",
	Progress:     true,
	Attributes:   "k8s.pod.",
}
