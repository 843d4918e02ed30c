// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// NetworkPolicy is the kind NetworkPolicy.networking.k8s.io.
var NetworkPolicy = Kind{
	Kind:     object.Kind{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
	Resource: "networkpolicies",
	Short:    "netpol",
}
