// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// GRPCRoute is the kind GRPCRoute of the Gateway API.
var GRPCRoute = Kind{
	Kind:      object.Kind{Group: groupGateway, Version: "v1", Kind: "GRPCRoute"},
	Resource:  "grpcroutes",
	Progress:  true,
	Goals:     []string{"Accepted", "ResolvedRefs"},
	Relations: routeRelations,
}
