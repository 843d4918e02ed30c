// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// EndpointSlice is the kind EndpointSlice.discovery.k8s.io. It lists endpoints of a Service. No
// controller acts on it.
var EndpointSlice = Kind{
	Kind:       object.Kind{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"},
	Resource:   "endpointslices",
	Controller: "endpointslice-controller",
	Fields:     []string{"addressType", "endpoints", "ports"},
}
