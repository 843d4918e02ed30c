// SPDX-License-Identifier: Apache-2.0

package kind

import "github.com/kube-lifeline/lifeline/app/internal/object"

// StorageClass is the kind StorageClass.storage.k8s.io.
var StorageClass = Kind{
	Kind:          object.Kind{Group: "storage.k8s.io", Version: "v1", Kind: "StorageClass"},
	Resource:      "storageclasses",
	Short:         "sc",
	ClusterScoped: true,
}
