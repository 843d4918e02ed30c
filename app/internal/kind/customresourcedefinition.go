// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// CustomResourceDefinition is the kind CustomResourceDefinition.apiextensions.k8s.io.
var CustomResourceDefinition = Kind{
	Kind:          object.Kind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
	Resource:      "customresourcedefinitions",
	Short:         "crd",
	ClusterScoped: true,
	Controller:    APIServer,
}
