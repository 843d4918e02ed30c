// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// APIService is the kind APIService.apiregistration.k8s.io.
var APIService = Kind{
	Kind:          object.Kind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"},
	Resource:      "apiservices",
	ClusterScoped: true,
	Controller:    APIServer,
	Goals:         []string{"Available"},
}
