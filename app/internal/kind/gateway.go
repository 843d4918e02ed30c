// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// groupGateway is the API group of the Gateway API.
const groupGateway = "gateway.networking.k8s.io"

// Gateway is the kind Gateway of the Gateway API.
var Gateway = Kind{
	Kind:     object.Kind{Group: groupGateway, Version: "v1", Kind: "Gateway"},
	Resource: "gateways",
	Short:    "gtw",
	Progress: true,
	Goals:    []string{"Accepted", "Programmed"},
}

// IsRoute reports whether the kind is a route of the Gateway API.
func IsRoute(k *Kind) bool { return k == &HTTPRoute || k == &GRPCRoute }

// routeRelations are the Gateways and the Services of a route of the Gateway API.
var routeRelations = []Relation{
	{object.Attached, "spec.parentRefs[]", &Gateway},
	{object.Backend, "spec.rules[].backendRefs[]", &Service},
}
