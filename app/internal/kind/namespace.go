// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// Namespace is the kind Namespace.
var Namespace = Kind{
	Kind:          object.Kind{Version: "v1", Kind: "Namespace"},
	Resource:      "namespaces",
	Short:         "ns",
	ClusterScoped: true,
	Controller:    "namespace-controller",
	Filled:        []string{"spec.finalizers"},
	Attributes:    "k8s.namespace.",
}
