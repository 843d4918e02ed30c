// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// HTTPRoute is the kind HTTPRoute of the Gateway API.
var HTTPRoute = Kind{
	Kind:      object.Kind{Group: groupGateway, Version: "v1", Kind: "HTTPRoute"},
	Resource:  "httproutes",
	Progress:  true,
	Goals:     []string{"Accepted", "ResolvedRefs"},
	Relations: routeRelations,
}
