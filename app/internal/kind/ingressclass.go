// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// IngressClass is the kind IngressClass.networking.k8s.io.
var IngressClass = Kind{
	Kind:          object.Kind{Group: "networking.k8s.io", Version: "v1", Kind: "IngressClass"},
	Resource:      "ingressclasses",
	ClusterScoped: true,
}
