// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// groupClusterAPI is the API group of Cluster API.
const groupClusterAPI = "cluster.x-k8s.io"

// Cluster is the kind Cluster of Cluster API. Its controller copies the endpoint from the object of the
// provider.
var Cluster = Kind{
	Kind:     object.Kind{Group: groupClusterAPI, Version: "v1beta2", Kind: "Cluster"},
	Resource: "clusters",
	Short:    "cl",
	Filled:   []string{"spec.controlPlaneEndpoint"},
	Goals:    []string{"Available"},
}
